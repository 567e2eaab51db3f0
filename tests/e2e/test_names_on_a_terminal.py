"""Every command on a terminal, with names and text that contain control sequences."""

import os
import pty
import subprocess
import sys

import pytest

from vaultseek.base.text import acts_on_terminal

EVIL = "\x1b]0;owned\x07 \u202eb'\\\x85\u200b\U000e0041"
NOTE = f"Zebra{EVIL}.md"
NOTES = {
    NOTE: f"---\naliases: ['{EVIL.replace(chr(39), '')}']\nrating: 3\ntags: [a/b]\n---\n# Heading{EVIL}\n\n"
    f"The zebra{EVIL} is striped. [[Other{EVIL}]] [[missing{EVIL}]] #t{EVIL}\n\n## Two{EVIL}\n\nzebra\n",
    f"Other{EVIL}.md": f"The zebra is near [[Zebra{EVIL}]]. Zebra{EVIL} [[Zebra{EVIL}]]\n",
    f"fold{EVIL}/Same.md": "zebra one",
    "two/Same.md": "zebra two",
    f"bad{EVIL}.md": "a: \x1b]0;x\x07 [[ zebra\n---\nk: [\n---\n",
    f"big{EVIL}.canvas": "{",
    f"table{EVIL}.base": "formulas: {f\u202e: 'nothing('}\nviews: [{}]\n",
}
COMMANDS = [
    ("search", "zebra"),
    ("search", "zebra", "--explain"),
    ("search", "zebra", "--paths"),
    ("search", "tag:a", "--paths"),
    ("search", "zebra", "--format", "vimgrep"),
    ("search", "zebra", "--json"),
    ("links", NOTE),
    ("links", NOTE, "--paths"),
    ("neighbors", NOTE),
    ("unlinked", NOTE),
    ("broken-links",),
    ("broken-links", "--paths"),
    ("orphans",),
    ("orphans", "--paths"),
    ("related", NOTE),
    ("related", NOTE, "--paths"),
    ("duplicates",),
    ("graph",),
    ("graph", "--paths"),
    ("graph", "hubs"),
    ("graph", "around", NOTE),
    ("graph", "path", NOTE, f"Other{EVIL}"),
    ("graph", "suggest"),
    ("graph", "suggest", NOTE),
    ("graph", "export", f"none{EVIL}/map.json"),
    ("tags",),
    ("properties",),
    ("properties", "aliases"),
    ("read", NOTE),
    ("read", "Same"),
    ("why", "zebra", NOTE),
    ("inspect", NOTE),
    ("table", f"table{EVIL}.base"),
    ("table", "zebra", "--columns", "title,aliases,file.path"),
    ("table", "zebra", "--columns", "title,aliases,file.path", "--format", "csv"),
    ("table", "zebra", "--columns", "title,aliases,file.path", "--format", "md"),
    ("complete", "--kind", "note", "Z"),
    ("complete", "--kind", "tag"),
    ("status",),
    ("vault", "list"),
    ("index",),
    ("doctor", "--no-worker"),
    ("search", f"path:{EVIL}"),
    ("read", f"none{EVIL}"),
]


def on_terminal(*arguments: str, environment: dict[str, str], cwd: os.PathLike[str]) -> str:
    """Run a command with its output and errors on a terminal, and return what it writes."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "vaultseek", *arguments]
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:  # the terminal is closed
            break
        if not data:
            break
        written += data
    os.close(ours)
    process.wait(60)
    return written.decode("utf-8", "replace").replace("\r\r\n", "\n").replace("\r\n", "\n")


@pytest.mark.fault("K14", "D11")
def test_no_command_writes_what_a_terminal_acts_on(indexed_vault):
    indexed = indexed_vault(NOTES)
    root = indexed.root
    environment = indexed.daemon.environment | {"TERM": "dumb", "LC_ALL": "C.UTF-8", "PAGER": "cat"}
    raw = {}
    for command in COMMANDS:
        arguments = (*command, "--vault", str(root)) if command[0] not in ("doctor", "vault") else command
        written = on_terminal(*arguments, environment=environment, cwd=root.parent)
        assert "Traceback" not in written
        assert "Try '" not in written, f"{command} is no command"
        acting = {c for c in written if acts_on_terminal(c)} - {"\n", "\t"}
        if acting:
            raw[command] = written
    assert raw == {}


@pytest.mark.fault("K14")
def test_paths_are_quoted_on_a_terminal_and_raw_in_a_pipe(indexed_vault):
    indexed = indexed_vault({NOTE: "zebra", "plain name.md": "zebra"})
    environment = indexed.daemon.environment | {"TERM": "dumb", "LC_ALL": "C.UTF-8"}
    command = ("search", "zebra", "--paths", "--vault", str(indexed.root))
    shown = on_terminal(*command, environment=environment, cwd=indexed.root).splitlines()
    assert sorted(shown) == [
        r"$'Zebra\x1b]0;owned\x07 \u202eb\'\\\u0085\u200b\U000e0041.md'",
        "plain name.md",
    ]
    piped = indexed.daemon.run(*command, cwd=indexed.root).stdout
    assert sorted(piped.split("\n")[:-1]) == [NOTE, "plain name.md"]
    quoted = next(name for name in shown if name.startswith("$"))
    spelled = subprocess.run(
        ["bash", "-c", f"printf %s {quoted}"], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True
    )
    assert spelled.stdout.decode() == NOTE
