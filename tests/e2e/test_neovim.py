"""The plugin in a real Neovim with a real daemon, driven by keystrokes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NVIM = shutil.which("nvim")
PLUGIN = Path(__file__).parents[2] / "editors" / "neovim"
COMMAND = [sys.executable, "-m", "vaultseek"]

pytestmark = pytest.mark.skipif(NVIM is None, reason="Neovim (nvim) is not installed")

NOTES = {
    ".obsidian/app.json": "{}",
    "Pump.md": (
        "---\ntags: [work/pumps]\naliases: [Bilge]\n---\n# Pump\n\n## Float switch\n\nSwitch E-4107 hangs.\n"
    ),
    "Garden.md": "# Garden\n\nSlugs eat the lettuce.\n\nSee [[Pump]] and [[nowhere]].\n",
    "sub/Tea's % #1 | note.md": "Green tea, jasmine. [[Pump|the pump]] #drinks\n",
    "A/Log.md": "one",
    "B/Log.md": (
        "---\naliases: [kettle notes]\n---\n## First\n### Same\n## Second\n### Same\n"
        "## What: a colon\n## Über uns\n## A | B\n## C# notes\n"
    ),
    "Evil.md": "# Evil\n\nzebra <Cmd>quit!<CR> `system('touch owned')` %{execute('quit!')} | qall!\n",
    "Boiler.md": (
        "---\nstatus: open\ntags: [home/heat]\nkind: '[[nowhere]]'\nowners:\n  - Ana\n  - O'Neil\n---\n"
        "# Boiler\n\nScale builds up. ^scale\n\nDrain first. ^drain-1\n"
    ),
    "Long.md": "".join(f"## Part {n}\n\n{f'words of part {n} ' * 120}\n\n" for n in range(8))
    + "## Last\n\nThe xylophone stands here.\n",
}


class Editor:
    """A headless Neovim, driven by keystrokes from outside."""

    def __init__(self, environment: dict[str, str], folder: Path, log: Path, eventually: Callable[..., Any]):
        self._eventually = eventually
        self._environment = environment
        self._run = Path(tempfile.mkdtemp(prefix="nv"))
        self.server = str(self._run / "s")
        runtime = (
            f"set runtimepath^={str(PLUGIN).replace(' ', chr(92) + ' ')} columns=160 lines=50 noswapfile"
        )
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [NVIM or "nvim", "--headless", "--clean", "--listen", self.server, "--cmd", runtime],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        try:
            # The socket's file exists a moment before it accepts connections.
            eventually(self._answers, "Neovim listens")
        except AssertionError:
            self.close()
            raise

    def _answers(self) -> bool:
        try:
            return self.ask("1") == 1
        except AssertionError:
            return False

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self._run, ignore_errors=True)

    def keys(self, text: str) -> None:
        """Type ``text``; it may contain keys such as ``<CR>``."""
        self._remote("--remote-send", text)

    def ask(self, lua: str) -> Any:
        """Return the value of a Lua expression."""
        quoted = "'" + lua.replace("'", "''") + "'"
        return json.loads(self._remote("--remote-expr", f"json_encode(luaeval({quoted}))"))

    def until(self, lua: str) -> Any:
        """Return the value of a Lua expression as soon as it is true."""
        return self._eventually(lambda: self.ask(lua), lua)

    def setup(self, **settings: Any) -> None:
        settings = {"command": COMMAND, "picker": "builtin", "lsp": False, **settings}
        self.ask(f"require('vaultseek').setup(vim.json.decode([==[{json.dumps(settings)}]==]))")
        # Record the messages at the bottom of the screen.
        self.ask("load([[messages = {}; vim.notify = function(m) table.insert(messages, m) end]])()")

    def messages(self) -> str:
        """Return the messages to the user."""
        return "\n".join(self.ask("messages"))

    def lines(self, window: str) -> list[str]:
        """Return the lines in a window of the picker."""
        buffer = f"require('vaultseek.picker').current.windows.{window}.buffer"
        return self.ask(f"vim.api.nvim_buf_get_lines({buffer}, 0, -1, false)")

    def where(self) -> list[Any]:
        """Return file and line of the cursor."""
        return self.ask("{ vim.fn.expand('%:p'), vim.fn.line('.') }")

    def quickfix(self) -> list[list[Any]]:
        """Return file, line and text of each item."""
        return self.ask(
            "vim.tbl_map(function(i)"
            " return { vim.fn.fnamemodify(vim.fn.bufname(i.bufnr), ':p'), i.lnum, i.text }"
            " end, vim.fn.getqflist())"
        )

    def complete(self, before: str, after: str = "") -> list[str]:
        """Return the omnifunc's completions with the cursor between the two parts of a line."""
        line = json.dumps(before + after, ensure_ascii=False)
        return self.ask(
            # As in insert mode, the cursor may be after the last letter.
            f"(function() vim.o.virtualedit = 'onemore' vim.api.nvim_set_current_line({line}) "
            f"vim.api.nvim_win_set_cursor(0, {{ vim.fn.line('.'), {len(before.encode())} }}) "
            "local omni = require('vaultseek.complete').omnifunc; local start = omni(1, '') "
            "if start < 0 then return {} end "
            f"local words = omni(0, ({line}):sub(start + 1, {len(before.encode())})).words "
            "return vim.tbl_map(function(w) return w.word end, words or {}) end)()"
        )

    def _remote(self, *arguments: str) -> str:
        done = subprocess.run(
            [NVIM or "nvim", "--server", self.server, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr.startswith("E"), done.stderr
        return done.stdout or done.stderr


@pytest.fixture(scope="module")
def garden(indexed_vault):
    """A vault indexed by a daemon, for all tests that change neither."""
    return indexed_vault(NOTES)


@pytest.fixture
def root(garden) -> Path:
    return garden.root


@pytest.fixture
def indexed(garden, tmp_path, eventually) -> Iterator[Editor]:
    """An editor in an indexed vault."""
    started = Editor(garden.daemon.environment, garden.root, tmp_path / "nvim.log", eventually)
    started.setup()
    yield started
    started.close()


@pytest.fixture
def editor(daemon, vault, tmp_path, eventually) -> Iterator[Editor]:
    """An editor in a vault that no daemon knows yet."""
    started = Editor(daemon.environment, vault(NOTES), tmp_path / "nvim.log", eventually)
    started.setup()
    yield started
    started.close()


def test_what_is_typed_is_searched_and_enter_goes_to_the_passage(indexed, root, garden, eventually):
    indexed.keys(":VaultSearch<CR>slu")
    indexed.until("#(require('vaultseek.picker').current or {places = {}}).places > 0")
    indexed.keys("gs lettuce")
    indexed.until("require('vaultseek.picker').current.query == 'slugs lettuce'")
    indexed.until("require('vaultseek.picker').current.pending == false")
    assert indexed.lines("list")[0].startswith("Garden  Garden.md:3")
    indexed.until(
        "vim.fn.getbufline(require('vaultseek.picker').current.windows.preview.buffer, 3)[1] ~= nil"
    )
    assert "Slugs eat the lettuce." in indexed.lines("preview")
    indexed.keys("<CR>")
    indexed.until("vim.fn.expand('%:t') == 'Garden.md'")
    assert indexed.where() == [str(root / "Garden.md"), 3]
    assert indexed.ask("#vim.api.nvim_list_wins()") == 1
    indexed.until("vim.fn.mode() == 'n'")
    opened = eventually(lambda: garden.daemon.json("history", "--json", "--vault", str(root))["opened"])
    place = [opened[0][name] for name in ("query", "path", "position", "client")]
    assert place == ["slugs lettuce", "Garden.md", 1, "neovim"]


def test_enter_before_the_answer_waits_for_it_and_goes_to_the_line(indexed, root):
    indexed.keys(":VaultSearch xylophone<CR><CR>")
    indexed.until("vim.fn.expand('%:t') == 'Long.md'")
    lines = (root / "Long.md").read_text().splitlines()
    assert "xylophone" in lines[indexed.where()[1] - 1]


def test_paths_with_letters_that_mean_something_and_hostile_text(indexed, root):
    indexed.keys(":VaultSearch jasmine<CR><CR>")
    indexed.until("vim.fn.expand('%:p'):find('sub/Tea') ~= nil")
    assert indexed.where()[0] == str(root / "sub/Tea's % #1 | note.md")
    indexed.keys(":VaultSearch zebra<CR>")
    indexed.until("(require('vaultseek.picker').current or {}).pending == false")
    indexed.keys("<C-n><C-p><C-q>")
    indexed.until("#vim.fn.getqflist() > 0")
    assert indexed.quickfix()[0][0] == str(root / "Evil.md")
    assert not list(root.rglob("owned"))


def test_ctrl_q_fills_the_quickfix_list_and_escape_closes(indexed, root):
    indexed.keys(":VaultSearch E-4107<CR>")
    indexed.until("#(require('vaultseek.picker').current or {places = {}}).places > 0")
    indexed.keys("<C-q>")
    indexed.until("vim.bo.buftype == 'quickfix'")
    file, line, text = indexed.quickfix()[0]
    assert (file, "E-4107" in text) == (str(root / "Pump.md"), True)
    assert line >= 5
    assert indexed.ask("vim.fn.getqflist({ title = 1 }).title") == "VaultSearch E-4107"
    indexed.keys(":cclose<CR>:VaultSearch<CR>abc<Esc><Esc>")
    indexed.until("require('vaultseek.picker').current == nil")
    assert indexed.ask("#vim.api.nvim_list_wins()") == 1


def test_newer_searches_take_the_place_of_older_ones(indexed):
    indexed.keys(":VaultSearch<CR>")
    for letter in "slugs in the garden and a pump":
        indexed.keys("<Space>" if letter == " " else letter)
    indexed.until("require('vaultseek.picker').current.query == 'slugs in the garden and a pump'")
    indexed.until("require('vaultseek.picker').current.pending == false")
    assert len(indexed.lines("list")) >= 2
    assert indexed.messages() == ""


def test_backlinks_and_related(indexed, root):
    indexed.keys(":edit Pump.md<CR>:VaultBacklinks<CR>")
    indexed.until("#(require('vaultseek.picker').current or {places = {}}).places == 2")
    assert any("Garden.md:5" in line for line in indexed.lines("list"))
    indexed.keys("garden<CR>")
    indexed.until("vim.fn.expand('%:t') == 'Garden.md'")
    assert indexed.where()[1] == 5
    indexed.keys(":VaultBacklinks! Bilge<CR>")
    indexed.until("#vim.fn.getqflist() == 2")
    assert [str(root / "Garden.md"), 5] in [item[:2] for item in indexed.quickfix()]
    indexed.keys(":cclose<CR>:edit Pump.md<CR>:VaultRelated<CR>")
    indexed.until("#(require('vaultseek.picker').current or {places = {}}).places > 0")
    assert any("Garden.md" in line for line in indexed.lines("list"))
    indexed.keys("<C-c>:enew<CR>:VaultRelated<CR>")
    indexed.until("#messages > 0")
    assert "this buffer is not a note" in indexed.messages()
    indexed.keys(":VaultBacklinks Evil<CR>:VaultBacklinks Nobody<CR>")
    indexed.until("#messages == 3")
    assert "no other note links" in indexed.messages()
    assert "no note matches" in indexed.messages()


def test_status(indexed, root):
    indexed.keys(":VaultStatus<CR>")
    indexed.until("vim.bo.filetype == 'vaultseek-status'")
    shown = "\n".join(indexed.ask("vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert str(root) in shown
    assert "8 notes" in shown
    indexed.keys("q")
    indexed.until("#vim.api.nvim_list_wins() == 1")


def test_the_language_server_marks_and_renames_and_its_actions_open_the_plugins_lists(indexed, root):
    indexed.keys(":edit Garden.md<CR>")
    indexed.until("vim.fn.expand('%:t') == 'Garden.md'")
    assert indexed.ask("#vim.lsp.get_active_clients()") == 0, "the setting is off"
    indexed.setup(lsp=True)
    indexed.keys(":edit<CR>")
    indexed.until("#vim.diagnostic.get(0) > 0")
    assert indexed.ask("vim.diagnostic.get(0)[1].message").startswith('no note or file is called "nowhere"')
    assert indexed.ask("vim.lsp.get_active_clients()[1].config.root_dir") == str(root)
    indexed.keys(":edit Pump.md<CR>")
    indexed.until("#vim.lsp.buf_get_clients(0) == 1")
    assert indexed.ask("#vim.lsp.get_active_clients()") == 1, "one for the vault"
    assert indexed.ask("vim.bo.omnifunc").startswith("v:lua.require'vaultseek")
    indexed.ask("vim.lsp.commands['vaultseek.backlinks']({}, {})")
    indexed.until("#(require('vaultseek.picker').current or {places = {}}).places > 0")
    indexed.keys("<Esc><Esc>")
    indexed.until("require('vaultseek.picker').current == nil")
    # Rename the note through a link in another one.
    indexed.keys(":buffer Garden.md<CR>/Pump]]<CR>")
    indexed.until("vim.fn.line('.') == 5")
    indexed.ask("vim.lsp.buf.rename('Valve')")
    indexed.until("vim.api.nvim_buf_get_lines(0, 4, 5, false)[1] == 'See [[Valve]] and [[nowhere]].'")
    (root / "Valve.md").rename(root / "Pump.md")


def start_in_a_note(editor: Editor, name: str) -> None:
    """Open a note with the language server, which completes and follows links."""
    editor.setup(lsp=True, complete_ms=5000)
    editor.keys(f":edit {name}<CR>")
    editor.until("#vim.lsp.buf_get_clients(0) == 1 and vim.bo.omnifunc:find('vaultseek')")
    editor.ask("vim.cmd('normal! G')")


def test_completion_of_links_headings_and_tags(indexed):
    start_in_a_note(indexed, "Garden.md")
    assert indexed.complete("see [[pu")[0] == "Pump]]"
    assert indexed.complete("see [[Bil", "]] there")[0] == "Pump|Bilge"
    assert sorted(indexed.complete("![[log"))[:2] == ["A/Log]]", "B/Log]]"]
    assert indexed.complete("see [[Bil", "|alias]] there")[0] == "Pump"
    assert indexed.complete("see [[Pu", "#Float switch]]")[0] == "Pump"
    assert indexed.complete("see [[Pu", " and [[Tea]]")[0] == "Pump]]"
    assert indexed.complete("see [[Pump#fl") == ["Pump#Float switch]]"]
    assert indexed.complete("[[#gar") == ["#Garden]]"]
    assert indexed.complete("grün #work/p") == ["work/pumps"]
    assert indexed.complete("grün #drin", " x") == ["drinks"]
    assert indexed.complete("a#b") == indexed.complete("[[done]] x") == []
    indexed.keys("Gosee [[pum<C-x><C-o><Esc>")
    indexed.until("vim.api.nvim_get_current_line() == 'see [[Pump]]'")


def test_a_completed_link_leads_to_the_note_that_was_chosen(indexed):
    """Also with two notes of the same name, in a table, and with headings that contain characters that end a
    link."""
    start_in_a_note(indexed, "Garden.md")
    assert indexed.complete("x [[kettle") == ["B/Log|kettle notes]]"]
    assert indexed.complete("[[B/Log#A |") == []
    assert indexed.complete("[[B/Log#A")[0] == "B/Log#A B]]"
    indexed.ask("vim.api.nvim_buf_set_lines(0, -1, -1, false, {'', '| a | b |', '| - | - |', ''})")
    indexed.ask("vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 0 })")
    assert indexed.complete("| x | [[kettle") == ["B/Log\\|kettle notes]]"]
    indexed.ask("vim.api.nvim_buf_set_lines(0, -1, -1, false, {'', '```', ''})")
    indexed.ask("vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 0 })")
    assert indexed.complete("[[pu") == []


def test_a_chosen_completion_replaces_the_rest_of_the_name(indexed):
    start_in_a_note(indexed, "Garden.md")
    indexed.keys("Gogrün [[Boler]] x<Esc>:call cursor('.', 11)<CR>i<C-x><C-o><Esc>")
    indexed.until("vim.api.nvim_get_current_line() == 'grün [[Boiler]] x'")


def test_completion_of_blocks(indexed):
    start_in_a_note(indexed, "Garden.md")
    found = indexed.complete("see [[Boiler#^")
    assert {"Boiler#^drain-1]]", "Boiler#^scale]]"} <= set(found), indexed.messages()
    assert indexed.complete("see [[Boiler#^sc", "]] x")[0] == "Boiler#^scale"
    indexed.keys("Gosee [[Boiler#^dr<C-x><C-o><Esc>")
    indexed.until("vim.api.nvim_get_current_line() == 'see [[Boiler#^drain-1]]'")
    # A block without an id gets one with the link.
    indexed.keys("Gosee [[#^slugs<C-x><C-o><Esc>")
    indexed.until("vim.api.nvim_get_current_line():match('^see %[%[#^[%w-]+%]%]$')")
    id = indexed.ask("vim.api.nvim_get_current_line():match('#(.*)%]%]')")
    indexed.until(f"vim.fn.getline(3) == 'Slugs eat the lettuce. {id}'")
    indexed.keys("Gosee [[Long#^xylophone<C-x><C-o><Esc>")
    indexed.until("vim.api.nvim_get_current_line():match('^see %[%[Long#^[%w-]+%]%]$')")
    id = indexed.ask("vim.api.nvim_get_current_line():match('#(.*)%]%]')")
    indexed.until(f"vim.fn.getbufline('Long.md', '$')[1] == 'The xylophone stands here. {id}'")


def test_completion_of_properties_and_their_values(indexed):
    def typed(*lines: str, after: str = "") -> list[str]:
        """Return the completions at the end of the last line of a new note."""
        text = json.dumps([*lines[:-1], "", "---", "# A note"])
        indexed.ask(f"vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.json.decode([==[{text}]==]))")
        indexed.ask(f"vim.api.nvim_win_set_cursor(0, {{ {len(lines)}, 0 }})")
        return indexed.complete(lines[-1], after)

    start_in_a_note(indexed, "New.md")
    assert typed("---", "sta") == ["status: "]
    assert typed("---", "sta", after=": x") == ["status"]
    assert {"status: ", "tags: ", "owners: ", "aliases: "} <= set(typed("---", ""))
    assert typed("---", "status: o") == ["open"]
    assert typed("---", 'status: "o') == ['open"']
    assert typed("---", 'status: "o', after='"') == ["open"]
    assert typed("---", "owners: ['a, b', \"O", after='", x]') == ["O'Neil"]
    assert typed("---", "owners: ['O", after=", 'x']") == ["O''Neil'"]
    assert typed("---", "owners: [Bea, An") == ["Ana"]
    assert "home/heat" in typed("---", "tags: [work/pumps, ho")
    assert typed("---", "kind: ") == ['"[[nowhere]]"']
    assert typed("---", "owners:", "  - Bea", "  - An") == ["Ana"]
    assert typed("---", "owners:", "  - 'O") == ["O''Neil'"]
    assert "home/heat" in typed("---", "tags:", "  - ho")
    assert typed("---", "status: open", "  - An") == []
    assert typed("no fence", "sta") == []
    assert typed("---", "status: open", "---", "sta") == []


def test_without_a_daemon_it_says_so(editor):
    editor.setup(command=["/nowhere/vaultseek"])
    editor.keys(":VaultSearch! slugs<CR>")
    editor.until("#messages == 1")
    assert "cannot be run" in editor.messages()
    assert "install vaultseek" in editor.messages()
    editor.setup(autostart=False)
    editor.keys(":VaultSearch slugs<CR>")
    editor.until("#(require('vaultseek.picker').current or {}).places == 0")
    editor.until("require('vaultseek.picker').current.pending == false")
    assert editor.lines("list") == ["no daemon is running; start one with `vaultseek start`"]
    editor.keys("<C-c>:VaultStatus<CR>")
    editor.until("#messages == 1")
    editor.setup(command=["false"])
    editor.keys(":VaultSearch! slugs<CR>")
    editor.until("#messages >= 2")
    assert "does not start" in editor.messages()


def test_the_daemon_is_started_when_needed_and_again_when_it_was_killed(daemon, editor, eventually):
    def completed() -> bool:
        # A completion before the first scan is empty and says why.
        editor.keys(":cclose<CR>:VaultSearch! lettuce<CR>")
        return editor.ask("#vim.fn.getqflist() > 0")

    eventually(completed)
    assert "starting the daemon" in editor.messages()
    first = daemon.pid()
    os.kill(first, signal.SIGKILL)
    editor.setup()
    editor.keys(":call setqflist([])<CR>")
    eventually(completed)
    # The plugin started it, or the language server that it runs, whichever was faster.
    assert daemon.pid() != first


def test_it_goes_through_the_port_where_there_is_one_and_no_socket(daemon, editor, eventually):
    daemon.environment["VAULTSEEK_DAEMON__TCP"] = "true"
    daemon.run("index", "--wait", "--vault", str(editor.ask("vim.fn.getcwd()")))
    file = daemon.socket.with_suffix(".tcp")
    editor.setup(socket=str(file))
    editor.keys(":VaultSearch! slugs<CR>")
    editor.until("#vim.fn.getqflist() > 0")
    assert editor.quickfix()[0][0].endswith("Garden.md")
    address = json.loads(file.read_text())

    editor.ask("require('vaultseek.client').close()")
    file.write_text(json.dumps({**address, "proof": "another"}))
    editor.keys(":cclose<CR>:VaultSearch! slugs<CR>")
    editor.until("#messages == 1")
    assert "not the daemon" in editor.messages()

    file.write_text(json.dumps({**address, "token": "wrong"}))
    editor.keys(":VaultSearch! slugs<CR>")
    editor.until("#messages == 2")
    assert "token" in editor.messages().splitlines()[1]

    file.chmod(0o644)
    editor.keys(":VaultSearch! slugs<CR>")
    editor.until("#messages == 3")
    assert "other users could read" in editor.messages()

    file.chmod(0o600)
    file.write_text(json.dumps(address))
    editor.keys(":VaultSearch! pump<CR>")
    editor.until("vim.fn.getqflist({ title = 1 }).title == 'VaultSearch pump'")


def test_checkhealth_with_and_without_a_daemon(indexed):
    indexed.keys(":checkhealth vaultseek<CR>")
    indexed.until("vim.bo.filetype == 'checkhealth' and vim.fn.search('the daemon answers', 'w') > 0")
    shown = "\n".join(indexed.ask("vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert "the command works" in shown
    assert "8 notes" in shown
    assert "ERROR" not in shown
    indexed.ask("require('vaultseek.client').close()")
    indexed.setup(socket="/nowhere/daemon.sock", command=["nothing-of-this-name"])
    indexed.keys(":bwipeout!<CR>:checkhealth vaultseek<CR>")
    indexed.until("vim.bo.filetype == 'checkhealth' and vim.fn.search('no daemon is running', 'w') > 0")
    assert indexed.ask("vim.fn.search('cannot be run', 'w')") > 0


def test_every_help_tag_is_found(tmp_path):
    shutil.copytree(PLUGIN, tmp_path / "plugin")
    commands = [f"helptags {tmp_path / 'plugin' / 'doc'}"]
    commands += [f"help {tag}" for tag in ("vaultseek", "vaultseek-settings", "vaultseek-gf", ":VaultStatus")]
    options = [word for command in [*commands, "qall!"] for word in ("-c", command)]
    done = subprocess.run(
        [NVIM or "nvim", "--headless", "--clean", "--cmd", f"set rtp^={tmp_path / 'plugin'}", *options],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0
    assert "E149" not in done.stderr


TELESCOPE = """
  local function module(name, value) package.preload[name] = function() return value end end
  module('telescope', { register_extension = function(e) return e end })
  module('telescope.config', { values = { grep_previewer = function() return 'previewer' end } })
  module('telescope.sorters', { empty = function() return 'sorter' end })
  module('telescope.pickers', { new = function(_, picker)
    return { find = function() _G.shown = picker end }
  end })
"""


def test_telescope_is_used_where_it_is_installed(indexed, root):
    """Runs against a stub with the telescope functions that the plugin calls."""
    indexed.ask(f"load([==[{TELESCOPE}]==])()")
    indexed.setup(picker="auto")
    indexed.keys(":VaultSearch slugs<CR>")
    assert indexed.until("shown and shown.prompt_title") == "VaultSearch"
    indexed.ask(
        "load([[entries = {}; shown.finder('slugs', function(e) table.insert(entries, e) end,"
        " function() complete = true end)]])()"
    )
    indexed.until("complete")
    entry = indexed.ask("entries[1]")
    assert (entry["filename"], entry["lnum"]) == (str(root / "Garden.md"), 3)
    assert indexed.ask("type(require('telescope._extensions.vaultseek').exports.vaultseek)") == "function"


def test_the_remarks_on_an_answer_are_said(indexed):
    remarks = [{"code": "closest", "text": "no note matches;\nthese are the closest"}]
    answer = json.dumps({"results": [], "remarks": remarks})
    notes = f"require('vaultseek.say').notes(vim.json.decode([==[{answer}]==]))"
    assert indexed.ask(notes) == ["No note matches; these are the closest"]
    assert indexed.ask("require('vaultseek.say').notes({ results = {} })") == []


def test_less_certain_notes_show_when_the_selection_gets_there(indexed):
    places = [
        {"title": name, "path": f"{name}.md", "file": f"/v/{name}.md", "vault": "/v", "line": 1, "words": []}
        for name in "abc"
    ]
    source = f"function(_, show) show(vim.json.decode([==[{json.dumps(places)}]==]), {{ 'a note' }}, 2) end"
    indexed.ask(f"require('vaultseek.picker').open({{ title = 'x', source = {source} }})")
    assert indexed.lines("list")[1:] == ["2 less certain notes: move down", "a note"]
    indexed.ask("require('vaultseek.picker').move(1)")
    assert [line[0] for line in indexed.lines("list")] == ["a", "b", "c", "a"]
    assert indexed.ask("require('vaultseek.picker').current.selected") == 2
    indexed.ask("require('vaultseek.picker').close()")


def test_what_is_typed_is_sent_as_such(indexed):
    """A typed query may end in an unfinished word; the query of ``:VaultSearch!`` is finished."""
    record = (
        "require('vaultseek.client').call = function(_, params) sent = params.typing or false return 1 end"
    )
    indexed.ask(f"load([[{record}]])()")
    indexed.keys(":VaultSearch xyloph<CR>")
    indexed.until("sent == true")
    indexed.keys("<C-c>:VaultSearch! xyloph<CR>")
    indexed.until("sent == false")


def test_frames_however_they_arrive(indexed):
    lua = """(function()
      local frame = require('vaultseek.frame')
      local stream = frame.encode({ id = 1, text = 'grün \\255' }) .. frame.encode({ id = 2 })
      stream = stream .. 'Content-Length: 2\\r\\n'
      local found, read = {}, frame.reader()
      for at = 1, #stream do
        for _, m in ipairs(read(stream:sub(at, at))) do table.insert(found, m) end
      end
      local ok, problem = pcall(frame.reader(), 'HTTP/1.1 400\\r\\n\\r\\n')
      return { found, #frame.reader()(stream), ok, problem }
    end)()"""
    found, at_once, ok, problem = indexed.ask(lua.replace("\n", " "))
    assert found == [{"id": 1, "text": "grün ?"}, {"id": 2}]
    assert (at_once, ok) == (2, False)
    assert "does not speak this protocol" in problem


def test_wrong_settings_are_named(indexed):
    result = indexed.ask("{ pcall(require('vaultseek').setup, { limitt = 3 }) }")
    assert result[0] is False
    assert '"limitt"' in result[1]
    result = indexed.ask("{ pcall(require('vaultseek').setup, { limit = 'many' }) }")
    assert "limit must be a number" in result[1]


def test_a_file_name_that_is_not_the_title_stands_beside_it(indexed):
    answer = "{ vault_path = '/notes' }"
    shown = {
        "file_name = 'Boiler'": "Boiler (Hot water) › Care",
        "file_name = vim.NIL": "Boiler › Care",
    }
    for field, title in shown.items():
        result = f"{{ path = 'Boiler.md', title = 'Hot water', heading_path = {{ 'Care' }}, {field} }}"
        assert indexed.ask(f"require('vaultseek.places').place({answer}, {result}).title") == title


def luminance(colour: int) -> float:
    """Return the relative luminance of a colour, as defined by WCAG."""
    parts = [(colour >> shift & 255) / 255 for shift in (16, 8, 0)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    ("background", "ground", "ink"), [("dark", 0x000000, 0xFFFFFF), ("light", 0xFFFFFF, 0)]
)
@pytest.mark.parametrize("scheme", ["default", "desert", "morning"])
def test_the_lists_are_readable(indexed, background, ground, ink, scheme):
    """Undefined colours are the terminal's ``ground`` and ``ink``."""
    if (scheme, background) in (("desert", "light"), ("morning", "dark")):
        pytest.skip("this scheme has one background")
    change = f"colorscheme {scheme}" if scheme != "default" else f"set background={background}"
    indexed.ask(f"vim.cmd('set termguicolors | {change}')")
    indexed.keys(":VaultSearch slugs<CR>")
    indexed.until("#(require('vaultseek.picker').current or {places = {}}).places > 0")
    list_window = "require('vaultseek.picker').current.windows.list.window"
    assert "NormalFloat:VaultseekNormal" in indexed.ask(f"vim.wo[{list_window}].winhighlight")
    colours = {
        name: indexed.ask(
            f"vim.tbl_extend('keep', vim.api.nvim_get_hl_by_name('{name}', true), {{ none = 1 }})"
        )
        for name in (
            "Normal",
            *(f"Vaultseek{part}" for part in ("Title", "Path", "Note", "Passage", "Match")),
        )
    }
    ground = colours["Normal"].get("background", ground)
    ink = colours["Normal"].get("foreground", ink)
    for name, colour in colours.items():
        lights = sorted(
            luminance(colour.get(of, or_)) for of, or_ in (("foreground", ink), ("background", ground))
        )
        assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 3, name
    assert indexed.ask("vim.api.nvim_get_hl_by_name('VaultseekSelected', true).reverse") is True


def test_the_preview_shows_the_line_that_matches_with_its_words_marked(indexed):
    indexed.keys(":VaultSearch xylophone<CR>")
    preview = "require('vaultseek.picker').current.windows.preview"
    indexed.until(f"require('vaultseek.picker').current and #vim.fn.getbufline({preview}.buffer, 1, '$') > 5")
    find = "function() return vim.fn.search('xylophone', 'wn') end"
    row = indexed.ask(f"vim.api.nvim_win_call({preview}.window, {find})")
    assert row > 30
    first, last = indexed.ask(
        f"{{ vim.fn.line('w0', {preview}.window), vim.fn.line('w$', {preview}.window) }}"
    )
    assert first <= row <= last
    marks = (
        f"vim.api.nvim_buf_get_extmarks({preview}.buffer, vim.api.nvim_create_namespace('vaultseek'), 0, -1,"
        " { details = true })"
    )
    words = [mark for mark in indexed.ask(marks) if mark[3]["hl_group"] == "VaultseekMatch"]
    assert [(row - 1, len("The "))] == [(mark[1], mark[2]) for mark in words]


def test_gf_follows_a_link(indexed, root):
    start_in_a_note(indexed, "Garden.md")
    for line, cursor, file, there in (
        ("read Boiler.md now", 6, "Boiler.md", 1),
        ("see [[Pump]] there", 6, "Pump.md", 1),
        ("see [[Pump]] and [[Boiler#Boiler|heat]]", 30, "Boiler.md", 9),
        ("[[Pump#Float Switch]]", 0, "Pump.md", 7),
        ("[[Boiler#^drain-1]]", 3, "Boiler.md", 13),
        ("[[Bilge]]", 3, "Pump.md", 1),
        ("[[#Garden]]", 3, "Garden.md", 1),
        ("| [[B/Log\\|two]] |", 5, "B/Log.md", 1),
        ("[[B/Log#Second#Same]]", 5, "B/Log.md", 7),
        ("[[B/Log#What a colon]]", 5, "B/Log.md", 8),
        ("[[B/Log#über uns]]", 5, "B/Log.md", 9),
        ("[[B/Log#A B]]", 5, "B/Log.md", 10),
        ("[[B/Log#C# notes]]", 5, "B/Log.md", 11),
        ("[the boiler](Boiler.md#boiler)", 5, "Boiler.md", 9),
    ):
        indexed.ask("vim.cmd('edit! Garden.md')")
        indexed.until("#vim.lsp.buf_get_clients(0) == 1")
        indexed.ask(
            f"vim.api.nvim_buf_set_lines(0, -1, -1, false, {{ {json.dumps(line, ensure_ascii=False)} }})"
        )
        indexed.ask(f"vim.api.nvim_win_set_cursor(0, {{ vim.api.nvim_buf_line_count(0), {cursor} }})")
        indexed.keys("gf")
        place = f"vim.fn.expand('%:p') == {json.dumps(str(root / file))} and vim.fn.line('.') == {there}"
        indexed.until(place)
    assert indexed.messages() == ""


def test_gf_finds_a_heading_that_is_not_saved(indexed):
    start_in_a_note(indexed, "Garden.md")
    indexed.ask("vim.api.nvim_buf_set_lines(0, 0, 0, false, {'# Later', '', '## Now', '', '[[#Now]]'})")
    indexed.ask("vim.api.nvim_win_set_cursor(0, { 5, 3 })")
    indexed.keys("gf")
    indexed.until("vim.fn.line('.') == 3")


def test_gf_says_where_a_link_leads_nowhere_and_leaves_other_mappings_alone(indexed):
    start_in_a_note(indexed, "Garden.md")
    indexed.until("#vim.diagnostic.get(0) > 0")
    indexed.keys("/nowhere<CR>gf")
    indexed.until("#messages == 1")
    assert 'no note or file is called "nowhere"' in indexed.messages()
    indexed.keys(":nnoremap gf :echo 1<CR><CR>")
    indexed.keys(":edit Pump.md<CR>")
    indexed.until("vim.fn.expand('%:t') == 'Pump.md' and #vim.lsp.buf_get_clients(0) == 1")
    assert indexed.ask("vim.fn.maparg('gf', 'n', false, true).buffer") == 0


def test_no_place_outside_of_the_vault(indexed):
    place = "require('vaultseek.places').place({ vault_path = '/v' }, { path = %s })"
    assert indexed.ask(place % "'a/../../etc/passwd'") is None
    assert indexed.ask(place % "'a..b/..c.md'")["file"] == "/v/a..b/..c.md"


def test_a_socket_whose_path_is_too_long_for_an_address(indexed, garden, tmp_path):
    far = tmp_path / ("far" * 40)
    far.symlink_to(garden.daemon.socket.parent)
    indexed.setup(socket=str(far / "daemon.sock"), autostart=False)
    if not Path("/proc/self/fd").exists():
        pytest.skip("there is no way round the limit on this system")
    indexed.keys(":VaultStatus<CR>")
    indexed.until("vim.bo.filetype == 'vaultseek-status'")
