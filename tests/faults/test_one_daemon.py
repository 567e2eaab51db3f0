"""All programs of one user reach the same daemon, whatever their environment."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from lsprotocol import types
from mcp import Client as Agent
from mcp import StdioServerParameters
from mcp.client.stdio import get_default_environment

from browsing import served
from daemons import Daemon, eventually
from lsp_client import editor
from vaultseek.base import paths
from worlds import write_files

pytestmark = pytest.mark.slow

NOTES = {"Pump.md": "# Pump\n\nThe bilge pump hums. [[Valve]]\n", "Valve.md": "# Valve\n"}
PLUGIN = Path(__file__).parents[2] / "editors" / "neovim"


class User:
    """The home directory of a user with settings and a vault, and the environments of the user's programs."""

    def __init__(self, home: Path) -> None:
        self.home = home
        write_files(home, {".config/vaultseek/config.toml": '[model]\nname = "hashing"\n'})
        self.root = write_files(home / "notes", NOTES)
        self.session = home / "session"
        self.session.mkdir(mode=0o700)
        self.bare = get_default_environment() | {"HOME": str(home)}
        """The variables that MCP SDKs pass to a server: HOME, LOGNAME, PATH, SHELL, TERM, USER."""
        other = home / "other"
        other.mkdir()
        of_session = {
            "terminal": str(self.session),
            "empty": "",
            "other session": str(other),
            "after logout": str(home / "gone"),
            "relative": "run",
            "su": "/run/user/0",
        }
        self.environments = {"agent": self.bare} | {
            name: self.bare | {"XDG_RUNTIME_DIR": folder} for name, folder in of_session.items()
        }
        self.terminal = self.environments["terminal"]

    def daemon(self, environment: Mapping[str, str]) -> Daemon:
        """Return the daemon that a program with this environment finds."""
        seen = Daemon(self.home)
        seen.environment = dict(environment)
        return seen

    def start(self, environment: Mapping[str, str]) -> int:
        """Index the vault with a daemon started by a program with this environment; return its id."""
        seen = self.daemon(environment)
        assert seen.run("vault", "add", str(self.root)).returncode == 0
        seen.indexed(self.root)
        return seen.pid()

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Agent]:
        """A client of ``vaultseek mcp`` started as an agent's host does, with only the six variables."""
        command = ["-m", "vaultseek", "mcp"]
        server = StdioServerParameters(command=sys.executable, args=command, cwd=self.root)
        async with Agent(server) as client:
            yield client


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME"):
        monkeypatch.delenv(f"XDG_{name}")
    made = User(home)
    yield made
    made.daemon(made.bare).stop()


@pytest.mark.fault("L1")
@pytest.mark.parametrize("first", ["terminal", "agent"])
def test_l1_a_daemon_that_any_program_started_is_the_daemon_of_all(user, first):
    pid = user.start(user.environments[first])
    for name, environment in user.environments.items():
        seen = user.daemon(environment)
        assert seen.run("start").stdout.startswith(f"already running: pid {pid}, "), name
        (vault,) = seen.json("status")["vaults"]
        assert (seen.pid(), vault["state"], vault["notes"]) == (pid, "ready", 2), name
        assert seen.paths('"bilge"', cwd=user.root) == ["Pump.md"], name


@pytest.mark.fault("L1")
@pytest.mark.parametrize(("first", "second"), [("terminal", "agent"), ("agent", "other session")])
def test_l1_any_program_stops_and_restarts_the_daemon_of_another(user, first, second):
    before = user.start(user.environments[first])
    one, other = (user.daemon(user.environments[name]) for name in (first, second))
    restarted = other.run("start", "--restart")
    assert_ended(before)
    assert f"started: pid {one.pid()}, " in restarted.stdout
    for stopping, asking in ((one, other), (other, one)):
        pid = asking.pid()
        assert stopping.run("stop").stdout == "stopped\n"
        assert_ended(pid)
        status = asking.run("status")
        told = "no daemon is running; start one with `vaultseek start`\n"
        assert (status.returncode, status.stdout) == (3, told)
        asking.run("start")


def assert_ended(pid: int) -> None:
    """Assert that a process that has just released its lock ends."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        eventually(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "it ended")


@pytest.mark.fault("L1")
@pytest.mark.parametrize("first", ["terminal", "agent"])
async def test_l1_the_tools_of_an_agent_answer_from_the_daemon_of_the_terminal(user, first):
    if first == "terminal":
        pid = user.start(user.terminal)
        async with user.agent() as agent:
            await assert_finds(agent)
    else:
        async with user.agent() as agent:
            assert not (await agent.call_tool("vault_status", {})).is_error
            pid = user.start(user.terminal)
            await assert_finds(agent)
    seen = user.daemon(user.terminal)
    assert seen.pid() == pid
    assert seen.paths('"bilge"', cwd=user.root) == ["Pump.md"]


async def assert_finds(agent: Agent) -> None:
    """Assert that the tools answer."""
    for tool, asked in (
        ("search", {"query": "bilge"}),
        ("read_note", {"note": "Pump"}),
        ("vault_status", {}),
    ):
        answer = await agent.call_tool(tool, asked)
        assert not answer.is_error, answer.content[0].text
    found = await agent.call_tool("search", {"query": "bilge"})
    assert "- Pump.md:" in found.content[0].text


@pytest.mark.fault("L1")
async def test_l1_an_editor_and_the_page_reach_the_daemon_of_the_terminal(user):
    pid = user.start(user.terminal)
    async with editor(user.bare, user.root) as here:
        here.open("Pump.md")
        place = types.TextDocumentIdentifier(here.uri("Pump.md"))
        links = await here.client.text_document_document_link_async(types.DocumentLinkParams(place))
        assert [link.target for link in links] == [here.uri("Valve.md")]
    with served(user.bare, cwd=user.root) as page:
        assert page.end(signal.SIGINT) == 0
    assert [user.daemon(each).pid() for each in (user.bare, user.terminal)] == [pid, pid]


@pytest.mark.fault("L1")
def test_l1_a_program_in_python_reaches_the_daemon_of_the_terminal(user):
    pid = user.start(user.terminal)
    for program in CLIENTS:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=user.bare, capture_output=True, text=True, timeout=60)
        assert done.stdout == f"{pid}\n", done.stderr


CLIENTS = (
    "from vaultseek.client import Client\nwith Client() as c: print(c.status()['daemon']['pid'])",
    """
import asyncio
from vaultseek.client import AsyncClient
async def main():
    async with AsyncClient() as client:
        print((await client.status())["daemon"]["pid"])
asyncio.run(main())
""",
)


@pytest.mark.fault("L1")
@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim (nvim) is not installed")
def test_l1_neovim_finds_the_daemon_of_the_terminal(user):
    user.start(user.terminal)
    for name, environment in user.environments.items():
        command = ["nvim", "--headless", "--clean", "--cmd", f"set runtimepath^={PLUGIN}", "-c", CONNECT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert "connected" in done.stderr, (name, done.stderr)


CONNECT = (
    "lua local said; require('vaultseek.endpoint').connect("
    "function(problem) said = problem and problem.message or 'connected' end);"
    " vim.wait(20000, function() return said end); io.stderr:write(said); vim.cmd('qall!')"
)


@pytest.mark.fault("L1")
def test_l1_a_session_that_ends_takes_nothing_from_the_daemon(user):
    pid = user.start(user.terminal)
    for remake in (False, True):
        shutil.rmtree(user.session)
        if remake:
            user.session.mkdir(mode=0o700)
        assert [user.daemon(each).pid() for each in (user.terminal, user.bare)] == [pid, pid]
        user.session.mkdir(exist_ok=True, mode=0o700)
    assert user.daemon(user.bare).run("stop").stdout == "stopped\n"
    assert_ended(pid)


@pytest.mark.fault("L1")
@pytest.mark.parametrize("removed", ["", "daemon.lock", "daemon.sock"])
def test_l1_the_folder_of_the_socket_is_made_again_under_the_daemon(user, removed):
    pid = user.start(user.terminal)
    paths.remove(paths.socket_file().parent / removed)
    eventually(lambda: user.daemon(user.bare).run("status").returncode == 0, "it is there again")
    assert user.daemon(user.bare).pid() == pid
    assert user.daemon(user.terminal).run("serve").returncode == 3
    assert user.daemon(user.terminal).run("stop").stdout == "stopped\n"
    assert_ended(pid)


@pytest.mark.fault("L1")
@pytest.mark.parametrize("next_", ["terminal", "agent"])
def test_l1_after_a_crash_the_next_program_starts_the_daemon_of_all(user, next_):
    pid = user.start(user.environments["terminal" if next_ == "agent" else "agent"])
    daemon = psutil.Process(pid)
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([daemon], timeout=30)
    assert paths.socket_file().exists()
    assert user.daemon(user.environments[next_]).paths('"bilge"', cwd=user.root) == ["Pump.md"]
    pids = {user.daemon(each).pid() for each in user.environments.values()}
    assert len(pids) == 1
    assert pids != {pid}
