"""The unit file for systemd and the agent file for launchd."""

import os
import plistlib
import sys
from pathlib import Path

from vaultseek.doors.cli.commands.service import run_all, service_manager, unload
from vaultseek.doors.cli.service_files import MARK, launchd_agent, systemd_units


def unit(command: list[str], *, sandbox: bool = True) -> str:
    made = systemd_units(command, Path("/run/s"), {}, [Path("/a b"), Path("/c%d")], sandbox=sandbox)
    return made["vaultseek.service"]


def test_words_that_systemd_would_take_for_something_else_are_escaped() -> None:
    text = unit(["/opt/my python", "-m", 'a"b\\c', "100%", "$HOME", "new\nline"])
    assert 'ExecStart="/opt/my python" -m "a\\x22b\\x5cc" 100%% $$HOME "new\\x0aline"\n' in text
    assert 'ReadWritePaths="/a b" /c%%d\n' in text
    assert MARK in text


def test_the_unit_is_shut_off_where_the_system_allows_it() -> None:
    for line in ("PrivateNetwork=yes", "ProtectSystem=strict", "PrivateTmp=yes"):
        assert line in unit(["x"]).splitlines()
        assert line not in unit(["x"], sandbox=False).splitlines()
    for line in ("NoNewPrivileges=yes", "UMask=0077", "WatchdogSec=60", "Restart=on-failure"):
        assert line in unit(["x"], sandbox=False).splitlines()


def test_the_agent_for_launchd() -> None:
    ((name, text),) = launchd_agent(["/py", "-m", "vaultseek", "serve"], {"A": "<&>"}, Path("/log")).items()
    assert MARK in text
    agent = plistlib.loads(text.encode())
    assert name == f"{agent['Label']}.plist"
    assert agent["ProgramArguments"] == ["/py", "-m", "vaultseek", "serve"]
    assert agent["EnvironmentVariables"] == {"A": "<&>"}
    assert (agent["RunAtLoad"], agent["KeepAlive"], agent["Umask"]) == (
        True,
        {"SuccessfulExit": False},
        0o077,
    )


def test_a_daemon_that_asks_a_server_keeps_the_network_and_the_rest_of_the_sandbox():
    def unit(network: bool) -> str:
        made = systemd_units(["v"], Path("/run/s"), {}, [], sandbox=True, network=network)
        return made["vaultseek.service"]

    assert "PrivateNetwork=yes" in unit(False)
    assert "PrivateNetwork" not in unit(True)
    assert "ProtectSystem=strict" in unit(True)


LAUNCHCTL = """#!/bin/sh
case "$1" in
    bootout) [ -e loaded ] && mv loaded ending && printf 1 > looks ;;
    print) [ -e loaded ] || { [ -e ending ] && case "$(cat looks)" in
        111) rm ending; false ;;
        *) printf 1 >> looks ;;
    esac; } ;;
    bootstrap) [ ! -e loaded ] && [ ! -e ending ] && touch loaded ;;
esac
"""


def test_an_agent_that_still_ends_is_waited_for(tmp_path, monkeypatch):
    program = tmp_path / "launchctl"
    program.write_text(LAUNCHCTL)
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "platform", "darwin")
    manager = service_manager()
    for _ in range(2):  # installed, and installed again
        unload(manager)
        run_all(manager.start)
    assert (tmp_path / "loaded").exists()
