"""``vaultseek service`` with a recording service manager: files, commands and messages."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from worlds import run_alone

Run = Callable[..., subprocess.CompletedProcess[str]]

SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$NOTES"
case "$*" in
  *"$FAILS"*) echo "Failed to do so: no reason" >&2; exit 1 ;;
  *ActiveState*) printf 'ActiveState=active\\nSubState=running\\n' ;;
esac
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def run(tmp_path: Path, notes: Path) -> Run:
    """``run("install")`` in an empty home, with a systemctl that records its arguments."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("systemctl", SYSTEMCTL), ("journalctl", '#!/bin/sh\necho "journal: $@"\n')):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    options = {"NOTES": str(notes), "FAILS": "nothing at all", "PATH": path}
    return lambda *arguments, **more: run_alone(tmp_path, "service", *arguments, **(options | more))


def folder() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"


def tree(root: Path) -> dict[str, str]:
    places = (place for place in root.rglob("*") if place.is_file())
    return {str(place.relative_to(root)): place.read_text() for place in places}


def test_install_says_what_it_did_and_how_to_undo_it(run: Run, notes: Path) -> None:
    done = run("install", "--no-sandbox")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"wrote {folder()}/vaultseek.service",
        f"wrote {folder()}/vaultseek.socket",
        "the daemon is now a service: it starts when you log in and restarts if it fails",
        "to undo this: vaultseek service remove",
    ]
    assert notes.read_text().splitlines()[1:] == [
        "--user daemon-reload",
        "--user enable vaultseek.socket vaultseek.service",
        "--user restart vaultseek.socket vaultseek.service",
    ]


def test_a_second_time_changes_nothing(run: Run) -> None:
    run("install", "--no-sandbox")
    before = tree(folder())
    done = run("install", "--no-sandbox")
    assert done.returncode == 0
    assert done.stdout.startswith(f"up to date: {folder()}/vaultseek.service\nup to date: ")
    assert tree(folder()) == before


def test_remove_takes_away_what_was_installed_and_nothing_else(run: Run, notes: Path) -> None:
    folder().mkdir(parents=True)
    (folder() / "other.service").write_text("[Service]\n")
    run("install")
    notes.unlink()
    done = run("remove")
    assert done.returncode == 0
    assert f"deleted {folder()}/vaultseek.service" in done.stdout
    assert "to install the service again: vaultseek service install" in done.stdout
    assert list(tree(folder())) == ["other.service"]
    assert notes.read_text().splitlines() == [
        "--user disable --now vaultseek.socket vaultseek.service",
        "--user daemon-reload",
    ]
    again = run("remove")
    assert (again.returncode, again.stdout.startswith("the service is not installed")) == (0, True)


def test_what_would_be_done_is_only_shown(run: Run, notes: Path, tmp_path: Path) -> None:
    for option in ("--print", "--dry-run"):
        done = run("install", option)
        assert done.returncode == 0
        assert f"# {folder()}/vaultseek.service\n" in done.stdout
        assert "Type=notify\n" in done.stdout
        assert "$ systemctl --user enable vaultseek.socket vaultseek.service" in done.stdout
    assert not folder().exists()
    assert not notes.exists()


def test_an_engine_on_another_machine_can_be_reached_from_the_sandbox(run: Run) -> None:
    assert "PrivateNetwork=yes" in run("install", "--print", "--sandbox").stdout
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "vaultseek" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[index]\nbackend = "postgres"\nuri = "postgresql://db.example/notes"\n')
    shown = run("install", "--print", "--sandbox").stdout
    assert "ProtectSystem=strict" in shown
    assert "PrivateNetwork" not in shown


def test_a_unit_that_was_written_for_other_settings_is_named(run: Run, tmp_path: Path) -> None:
    def findings() -> list[str]:
        done = run_alone(tmp_path, "doctor", "--no-worker", "--json")
        return [each["message"] for each in json.loads(done.stdout)["findings"] if each["check"] == "service"]

    for option in ("--sandbox", "--no-sandbox"):
        run("install", option)
        assert "outdated" not in run("status").stdout
        assert findings() == []
    run("install", "--sandbox")
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "vaultseek" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[team]\nlisten = "127.0.0.1:7447"\n')
    warning = "the service's unit is outdated (PrivateNetwork)"
    assert f"{warning}: run `vaultseek service install` again" in run("status").stdout
    assert findings() == [warning]
    run("install", "--sandbox")
    assert findings() == []
    config.write_text("[team\n")
    assert "outdated" not in run("status").stdout


def test_a_file_of_somebody_elses_is_left_alone(run: Run) -> None:
    folder().mkdir(parents=True)
    own = folder() / "vaultseek.socket"
    own.write_text("[Socket]\nListenStream=1234\n")
    done = run("install")
    assert done.returncode == 3
    assert (
        done.stderr
        == f"vaultseek: {own} was not written by vaultseek; move it elsewhere, then install again\n"
    )
    assert run("remove").returncode == 0
    assert own.read_text().endswith("1234\n")


def test_a_link_is_not_written_through(run: Run, tmp_path: Path) -> None:
    folder().mkdir(parents=True)
    goal = tmp_path / "goal"
    goal.write_text("precious")
    (folder() / "vaultseek.service").symlink_to(goal)
    assert run("install").returncode == 3
    assert goal.read_text() == "precious"


def test_where_no_manager_answers_nothing_is_written(run: Run) -> None:
    done = run("install", FAILS="--property=Version")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "vaultseek: systemd is not available to this user, so nothing was written; start the daemon with "
        "`vaultseek start`, or see the files with `vaultseek service install --print`\n"
    )
    assert not folder().exists()


def test_a_manager_that_refuses_is_quoted(run: Run) -> None:
    done = run("install", FAILS="restart")
    assert done.returncode == 3
    assert "restart vaultseek.socket vaultseek.service` failed: Failed to do so: no reason; " in done.stderr
    assert "undo the rest with `vaultseek service remove`" in done.stderr


def test_variables_of_the_shell_that_the_service_will_not_see_are_named(run: Run) -> None:
    done = run("install", VAULTSEEK_SEARCH__LIMIT="3")
    assert "the service does not see this shell's VAULTSEEK_SEARCH__LIMIT" in done.stdout


def test_status_of_the_service(run: Run) -> None:
    none = run("status")
    assert (none.returncode, none.stdout.splitlines()) == (
        3,
        ["not installed; to install it: vaultseek service install", "no daemon is running"],
    )
    run("install")
    said = run("status")
    assert "systemd: ActiveState=active · SubState=running" in said.stdout
    assert said.returncode == 3


def test_the_end_of_the_log_is_shown(run: Run) -> None:
    none = run("logs")
    assert (none.returncode, none.stdout) == (1, "")
    assert "start the daemon with `vaultseek start`" in none.stderr
    log = Path(os.environ["XDG_STATE_HOME"]) / "vaultseek" / "daemon.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {n} \x1b[31m\n" for n in range(100)))
    assert run("logs", "-n", "2").stdout == "line 98 \\x1b[31m\nline 99 \\x1b[31m\n"
    assert len(run("logs").stdout.splitlines()) == 50
    journal = run("logs", "--journal", "-n", "7").stdout
    assert journal == (
        "journal: --user --no-pager --lines 7 --unit=vaultseek.socket --unit=vaultseek.service\n"
    )


def test_the_folders_of_the_shell_are_the_services_own(run: Run) -> None:
    run("install", "--sandbox")
    unit = (folder() / "vaultseek.service").read_text()
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        assert f"{name}={os.environ[name]}" in unit
    data = Path(os.environ["XDG_DATA_HOME"]) / "vaultseek"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert f"ReadWritePaths={data} " in unit
