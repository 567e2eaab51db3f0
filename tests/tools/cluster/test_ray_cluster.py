"""Addresses of Ray, and what is said of an installation without it; a real cluster runs in tests/e2e."""

import importlib.util
import os
import signal
import sys
from types import SimpleNamespace

import pytest

from vaultseek.errors import ConfigError, Unavailable, UsageError
from vaultseek.tools.cluster import ray_cluster


def test_an_installation_without_ray_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="needs the extra ray; add it with"):
        ray_cluster.check_installed()


WRONG = ["", "here", "host:", ":1", "host:0", "host:70000", "ray://", "http://h:1", "a:b"]
SILENT = ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "no-such-host.invalid:1"]


@pytest.mark.parametrize(
    ("address", "error", "words"),
    [(address, UsageError, "use local, HOST:PORT or ray://HOST:PORT") for address in WRONG]
    + [(address, Unavailable, "no Ray cluster answers at") for address in SILENT],
)
def test_what_is_wrong_with_an_address_is_said(address, error, words, monkeypatch):
    monkeypatch.setattr(ray_cluster, "check_installed", lambda: None)
    with pytest.raises(error, match=words), ray_cluster.connected(address, "hashing", "hashing"):
        pass


def test_an_interrupt_while_it_connects_waits_until_it_is_connected(monkeypatch):
    calls = []

    def init(**options):
        os.kill(os.getpid(), signal.SIGINT)
        calls.append("connected")

    ray = SimpleNamespace(init=init, shutdown=lambda: calls.append("disconnected"), exceptions=exceptions())
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(ray_cluster, "check_installed", lambda: None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with pytest.raises(KeyboardInterrupt), ray_cluster.connected("local", "hashing", "hashing"):
        calls.append("used")
    assert calls == ["connected", "disconnected"]


def test_a_cluster_here_that_starts_too_slowly_is_started_again_and_then_named_in_one_line(monkeypatch):
    starts = []

    def init(**options):
        starts.append("start")
        raise Exception("The current node timed out during startup.")  # what Ray raises has no class

    ray = SimpleNamespace(init=init, shutdown=lambda: None, exceptions=exceptions())
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(ray_cluster, "check_installed", lambda: None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    words = "^the Ray cluster at local cannot be used: The current node timed out during startup.$"
    with (
        pytest.raises(Unavailable, match=words),
        ray_cluster.connected("local", "hashing", "hashing"),
    ):
        pass
    assert starts == ["start", "start"]


def exceptions():
    """Return the errors of Ray that are told apart."""
    return SimpleNamespace(RayError=OSError, RayTaskError=OSError)
