"""The requests that the page's server answers, and the browsers that it lets in."""

import httpx2
import pytest

from vaultseek.doors.ui.api import API
from vaultseek.doors.ui.application import BODY_BYTES, application, page_files
from vaultseek.doors.ui.gate import Session
from vaultseek.errors import NotFound

PORT = 7999
ROOT = f"http://127.0.0.1:{PORT}"
OWN = {"Origin": ROOT, "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
CALL = {"method": "search", "params": {"vault": "/notes", "query": "x"}}


class Page:
    """The server with a daemon that has one vault, and a client that acts as a browser's page."""

    def __init__(self, session=None):
        self.asked = []
        self.used = 0
        self.session = session or Session()
        api = API(self.ask, "/notes", None, lambda vault, note: None)
        self.app = application(api, self.session, PORT, self.use)
        self.client = httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=ROOT)

    async def ask(self, method, params):
        self.asked.append((method, params))
        if method == "vault/list":
            return {"vaults": [{"name": "notes", "path": "/notes"}]}
        if params.get("query") == "lost":
            raise NotFound("no note matches")
        return {"results": []}

    def use(self):
        self.used += 1

    async def open(self, token=None):
        body = {"token": self.session.token if token is None else token}
        return await self.client.post("/api/session", json=body, headers=OWN)

    async def call(self, body=CALL, name="call", **headers):
        return await self.client.post(
            f"/api/{name}", json=body, headers=OWN | {"X-Vaultseek-Key": self.session.key} | headers
        )


@pytest.fixture
def page():
    return Page()


async def test_the_browser_that_brings_the_token_gets_in(page):
    opened = await page.open()
    assert opened.json() == {"key": page.session.key}
    cookie = opened.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert f"vaultseek-{PORT}=" in cookie
    assert page.session.cookie not in opened.text
    assert (await page.call()).json() == {"results": []}
    assert page.asked[-1] == ("search", {"vault": "/notes", "query": "x"})
    assert page.used == 1


async def test_the_token_works_once(page):
    assert (await page.open("wrong")).status_code == 403
    assert (await page.open(["list"])).status_code == 403
    assert (await page.open()).status_code == 200
    again = await page.open()
    assert again.status_code == 403
    assert "set-cookie" not in again.headers


def test_a_session_that_lasts_admits_the_browser_of_before():
    before, after, other = Session("secret"), Session("secret"), Session("another")
    assert after.admits(before.cookie, before.key)
    assert not after.admits(before.cookie, before.cookie)
    assert not other.admits(before.cookie, before.key)
    assert not Session().admits(before.cookie, before.key)


async def test_a_session_that_lasts_is_for_one_user(monkeypatch):
    page = Page(Session("secret"))
    page.client.cookies.set(f"vaultseek-{PORT}", page.session.cookie)
    assert (await page.call()).status_code == 200
    monkeypatch.setattr("vaultseek.doors.ui.gate.is_allowed_peer", lambda client, server: False)
    assert (await page.call()).status_code == 403


async def test_nobody_gets_in_before_the_token_is_exchanged(page):
    page.client.cookies.set(f"vaultseek-{PORT}", page.session.cookie)
    assert (await page.call()).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": f"notes.example:{PORT}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": f"127.0.0.1:{PORT + 1}"}, 421),
        ({"Host": f"[::1]:{PORT}"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://notes.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://127.0.0.1:{PORT + 1}"}, 403),
        ({"Origin": f"https://127.0.0.1:{PORT}"}, 403),
        ({"Origin": f"http://localhost:{PORT}"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"X-Vaultseek-Key": "wrong"}, 401),
        ({"Cookie": "x=y"}, 401),
        ({"Cookie": f"vaultseek-{PORT}=wrong"}, 401),
    ],
)
async def test_a_request_from_elsewhere_reaches_nothing(page, headers, status):
    await page.open()
    refused = await page.call(**headers)
    assert refused.status_code == status
    assert page.asked == []
    assert not any(name.lower().startswith("access-control") for name in refused.headers)


async def test_an_origin_and_a_key_have_to_be_there(page):
    await page.open()
    for missing in ("Origin", "X-Vaultseek-Key", "Content-Type"):
        headers = {k: v for k, v in (OWN | {"X-Vaultseek-Key": page.session.key}).items() if k != missing}
        refused = await page.client.post("/api/call", content=b"{}", headers=headers)
        assert refused.status_code in (401, 403, 415)
    assert page.asked == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_other_methods_are_refused(page, method):
    await page.open()
    headers = OWN | {"X-Vaultseek-Key": page.session.key}
    assert (await page.client.request(method, "/api/call", headers=headers)).status_code == 405
    if method not in ("GET", "HEAD"):
        assert (await page.client.request(method, "/")).status_code == 405


async def test_every_route_checks_the_name_and_has_the_headers_of_a_strict_page(page):
    for path in [*page_files(), "/api/call", "/api/session", "/nothing", "/../x", "/page.css%00"]:
        foreign = await page.client.get(path, headers={"Host": f"notes.example:{PORT}"})
        assert foreign.status_code == 421
        assert "<" not in foreign.text
        answer = await page.client.get(path)
        assert answer.status_code == (200 if path in page_files() else 403 if "/api/" in path else 404)
        for got in (foreign, answer):
            policy = got.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "require-trusted-types-for 'script'" in policy
            assert got.headers["x-content-type-options"] == "nosniff"
            assert got.headers["cross-origin-resource-policy"] == "same-origin"
            assert got.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://notes.example"}])
async def test_another_page_cannot_load_the_files(page, headers):
    assert (await page.client.get("/main.js", headers=headers)).status_code == 403


async def test_the_page_may_only_read_and_only_known_vaults(page):
    await page.open()
    for method in ("vault/add", "vault/remove", "shutdown", "index/refresh", "note/get", ""):
        refused = await page.call({"method": method, "params": {"vault": "/notes"}})
        assert refused.status_code == 400
    assert page.asked == []
    for name, body in {
        "call": {"method": "search", "params": {"vault": "/etc", "query": "x"}},
        "note": {"vault": "/etc", "note": "passwd"},
        "picture": {"vault": "/etc", "path": "passwd"},
        "report": {"vault": "/etc"},
        "graph": {"notes": [{"vault": "/etc", "path": "passwd"}]},
    }.items():
        assert (await page.call(body, name)).status_code == 404
    assert {method for method, _ in page.asked} == {"vault/list"}


async def test_errors_are_told_and_bad_bodies_refused(page):
    await page.open()
    lost = await page.call({"method": "search", "params": {"vault": "/notes", "query": "lost"}})
    assert (lost.status_code, lost.json()["error"]["code"]) == (404, "not_found")
    headers = OWN | {"X-Vaultseek-Key": page.session.key}
    for content in (b"", b"[]", b"{", b"[" * 5000, b'"x"'):
        assert (await page.client.post("/api/call", content=content, headers=headers)).status_code == 400
    long = b'{"method": "' + b"x" * BODY_BYTES + b'"}'
    assert (await page.client.post("/api/call", content=long, headers=headers)).status_code == 413


async def test_watching_is_no_use(page):
    await page.open()
    await page.call({"method": "index/status", "params": {}, "watching": True})
    assert page.used == 0


def test_the_page_is_light():
    from importlib.resources import files

    folder = files("vaultseek.doors.ui") / "page"
    assert sum(len((folder / name).read_bytes()) for name in page_files().values()) < 140_000
    for name in page_files().values():
        text = (folder / name).read_text("utf-8")
        if not name.startswith("d3-"):
            assert "http://" not in text.replace("http://www.w3.org/", "")
            assert "https://" not in text
            assert "innerHTML" not in text or name == "note.js"


async def test_a_large_body_is_refused(page):
    await page.open()
    key = {"X-Vaultseek-Key": page.session.key}

    async def large():
        for _ in range(BODY_BYTES // 1000 + 2):
            yield b" " * 1000

    answer = await page.client.post("/api/call", content=large(), headers=OWN | key)
    assert answer.status_code == 400
    assert "more than" in answer.json()["error"]["message"]
    assert answer.headers["connection"] == "close"
