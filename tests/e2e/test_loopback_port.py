"""The port of a real daemon: open where it is requested, closed when the daemon ends."""

import os
import signal
import stat

import psutil

from vaultseek.base import paths
from vaultseek.client import Client


def test_a_daemon_listens_on_a_port_only_where_that_is_asked_for(daemon, vault, eventually):
    root = vault({"Pump.md": "The float switch of the sump pump."})
    file = paths.socket_file().with_suffix(".tcp")
    daemon.run("index", "--wait", "--vault", str(root))
    assert not file.exists()
    assert not psutil.Process(daemon.pid()).net_connections("inet")
    daemon.stop()

    daemon.environment["VAULTSEEK_DAEMON__TCP"] = "true"
    daemon.run("index", "--wait", "--vault", str(root))
    first = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listening = psutil.Process(daemon.pid()).net_connections("inet")
    assert [place.laddr.ip for place in listening if place.status == psutil.CONN_LISTEN] == ["127.0.0.1"]
    with Client(file) as client:
        assert client.search("float", vault=str(root))["results"][0]["path"] == "Pump.md"
        daemon.kill()
        assert file.exists(), "what a kill leaves behind"
        daemon.run("start")
        assert file.read_text() != first
        assert client.search("float", vault=str(root))["results"], "found again through the new file"

    daemon.stop()
    eventually(lambda: not file.exists(), "the file goes with the daemon")

    daemon.run("start")
    os.kill(daemon.pid(), signal.SIGTERM)
    eventually(lambda: not file.exists(), "also when it is told to end")


def test_the_file_of_a_killed_daemon_goes_with_the_next_that_has_no_port(daemon):
    file = paths.socket_file().with_suffix(".tcp")
    daemon.environment["VAULTSEEK_DAEMON__TCP"] = "true"
    daemon.run("start")
    daemon.kill()
    assert file.exists()
    del daemon.environment["VAULTSEEK_DAEMON__TCP"]
    daemon.run("start")
    assert not file.exists()
