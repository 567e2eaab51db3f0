"""The daemon stops when it is told to, whatever it is doing, and the next start continues from there."""

import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

NOTES = {f"n{number}.md": f"Granite {number}." for number in range(30)}
PLACES = ["ingest.read", "ledger.commit", "keyword.applied"]
"""Steps in the writer thread; each of them never ends in these tests."""


def hang(daemon, root, place, eventually):
    """Start a daemon that hangs at a step of the first index, and return its process."""
    daemon.environment["VAULTSEEK_FAILPOINTS"] = f"{place}=spin@1"
    assert daemon.run("vault", "add", str(root)).returncode in (0, 2), "2: it is a vault already"
    process = psutil.Process(daemon.pid())
    eventually(lambda: daemon.json("status")["vaults"], "the vault is open")
    before = process.cpu_times().user
    eventually(lambda: process.cpu_times().user > before + 0.5, "it computes for ever")
    del daemon.environment["VAULTSEEK_FAILPOINTS"]
    return process


def ended(process):
    """Assert that the process ends."""
    assert psutil.wait_procs([process], timeout=30)[1] == []


@pytest.mark.fault("A14")
@pytest.mark.parametrize("place", PLACES)
def test_a_daemon_that_is_busy_for_ever_is_stopped(daemon, vault, eventually, place):
    root = vault(NOTES)
    process = hang(daemon, root, place, eventually)
    done = daemon.run("stop")
    assert (done.returncode, done.stderr) == (0, "")
    ended(process)
    daemon.run("index", "--wait", "--vault", str(root))
    assert len(daemon.paths("granite", "--vault", str(root), "-n", "50")) == len(NOTES)


@pytest.mark.fault("L9")
def test_l9_silent_connections_keep_nobody_from_stopping_it(daemon):
    assert daemon.run("start").returncode == 0
    address = daemon.json("status")["daemon"]["socket"]
    silent = []
    for _ in range(200):
        silent.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        silent[-1].connect(address)
    process = psutil.Process(daemon.pid())
    assert daemon.run("stop").returncode == 0
    ended(process)
    for each in silent:
        each.close()


@pytest.mark.fault("A13", "A14")
def test_a_busy_daemon_ends_by_a_signal(daemon, vault, eventually):
    root = vault(NOTES)
    process = hang(daemon, root, "ledger.commit", eventually)
    os.kill(process.pid, signal.SIGTERM)
    ended(process)
    assert "stopped before all work was done" in daemon.log()
    daemon.run("index", "--wait", "--vault", str(root))
    assert len(daemon.paths("granite", "--vault", str(root), "-n", "50")) == len(NOTES)


@pytest.mark.fault("A14")
def test_stopping_it_while_it_reads_a_note_does_not_count_against_the_note(daemon, vault, eventually):
    root = vault(NOTES)
    for _ in range(2):
        process = hang(daemon, root, "note.read n3.md", eventually)
        daemon.run("stop")
        ended(process)
    daemon.run("index", "--wait", "--vault", str(root))
    assert daemon.json("status")["vaults"][0]["problems"] == []
    assert len(daemon.paths("granite", "--vault", str(root), "-n", "50")) == len(NOTES)


@pytest.mark.fault("A14")
def test_a_frozen_daemon_is_named_and_stopped(daemon, vault):
    root = daemon.indexed(vault(NOTES))
    process = psutil.Process(daemon.pid())
    process.suspend()
    done = daemon.run("search", "granite", "--vault", str(root))
    assert done.returncode != 0
    assert "does not answer; stop it with `vaultseek stop`" in done.stderr
    done = daemon.run("stop")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"the process {process.pid} was killed; nothing is lost" in done.stdout
    ended(process)
    assert len(daemon.paths("granite", "--vault", str(root), "-n", "50")) == len(NOTES)


def test_a_busy_vault_is_removed(daemon, vault, eventually, tmp_path):
    root = vault(NOTES)
    hang(daemon, root, "ledger.commit", eventually)
    done = daemon.run("vault", "remove", str(root), "--delete-index")
    assert done.returncode == 0, done.stderr
    assert daemon.json("vault", "list")["vaults"] == []
    assert daemon.run("stop").returncode == 0


@pytest.mark.fault("A14")
def test_a_daemon_that_has_just_begun_ends_by_a_signal(daemon, vault, eventually):
    root = vault(NOTES)
    assert daemon.run("vault", "add", str(root)).returncode == 0
    daemon.stop()
    assert daemon.run("start").returncode == 0
    process = psutil.Process(daemon.pid())
    os.kill(process.pid, signal.SIGTERM)
    ended(process)
    assert "Traceback" not in daemon.log()


def test_clients_that_wait_are_told_that_the_vault_is_closed(daemon, vault, eventually):
    root = vault(NOTES)
    hang(daemon, root, "ledger.commit", eventually)
    command = [sys.executable, "-m", "vaultseek", "index", "--wait", "--vault", str(root)]
    waiting = subprocess.Popen(command, env=daemon.environment, stderr=subprocess.PIPE, text=True)
    eventually(lambda: psutil.Process(waiting.pid).net_connections("unix"), "it has connected")
    daemon.run("stop")
    assert "try again" in waiting.communicate(timeout=30)[1]
    assert waiting.returncode == 3


def test_a_restart_replaces_the_running_daemon(daemon):
    assert daemon.run("start").returncode == 0
    before = daemon.pid()
    assert daemon.run("start", "--restart").returncode == 0
    assert daemon.pid() != before
    assert daemon.run("--version").stderr == ""
