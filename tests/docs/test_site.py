"""The documentation site: nothing is missing, and nothing is loaded from elsewhere."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

PROJECT = Path(__file__).parents[2]
NOT_INSTALLED = importlib.util.find_spec("zensical") is None
pytestmark = pytest.mark.skipif(NOT_INSTALLED, reason="zensical is not installed: scripts/setup installs it")
COUNTED = ("h1", "h2", "h3", "li", "pre", "table", "td", "img")
"""Elements whose number in a page must be the same on the site."""


class Page(HTMLParser):
    """Anchors and addresses of a page, and the number of each element in its article."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.elements: Counter[str] = Counter()
        self._in_article = False
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values: dict[str, Any] = dict(attrs)
        self._in_article |= tag == "article"
        if self._in_article:
            self.elements[tag] += 1
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        loaded = ("src", "srcset") if tag != "link" else ("href",)
        self.loaded |= {values[name] for name in loaded if values.get(name)}

    def handle_endtag(self, tag: str) -> None:
        self._in_article &= tag != "article"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [PROJECT / "scripts" / "site", folder],
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {file: Page(file) for file in site.rglob("*.html") if file.name != "404.html"}


def sources(nav: list[Any]) -> Iterator[str]:
    """Yield the pages of the navigation."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from sources(below if isinstance(below, list) else [below])


NAVIGATION = list(
    sources(tomllib.loads((PROJECT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
)


def built(site: Path, source: str) -> Path:
    return site / source.replace("README.md", "index.html").replace(".md", ".html")


def test_the_navigation_has_every_page_once():
    pages = {f"docs/{page.name}" for page in (PROJECT / "docs").glob("*.md")}
    pages |= {str(page.relative_to(PROJECT)) for page in PROJECT.glob("editors/*/README.md")}
    pages |= {page.name for page in PROJECT.glob("*.md")}
    assert sorted(NAVIGATION) == sorted(pages)


def test_every_link_and_picture_of_the_site_is_there(site, pages):
    lost = []
    for file, page in pages.items():
        for address in page.links | page.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            known = (
                not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors
            )
            if not target.exists() or not known:
                lost.append((file.relative_to(site), address))
    assert lost == []


def test_nothing_is_loaded_from_elsewhere(pages):
    assert [address for page in pages.values() for address in page.loaded if urlsplit(address).netloc] == []


def test_the_site_can_be_searched(site):
    assert "snails eating the salad" in (site / "search.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("source", NAVIGATION)
def test_a_page_is_shown_as_elsewhere(site, pages, source):
    elsewhere: Counter[str] = Counter()
    text = (PROJECT / source).read_text(encoding="utf-8")
    for tag in MarkdownIt("gfm-like").render(text).split("<")[1:]:
        elsewhere[tag.replace(">", " ").split(maxsplit=1)[0]] += 1
    here = pages[built(site, source)].elements
    assert {tag: here[tag] for tag in COUNTED} == {tag: elsewhere[tag] for tag in COUNTED}
