"""Addresses of Ray, and what is said of an installation without it; a real cluster runs in tests/e2e."""

from __future__ import annotations

import importlib.util

import pytest

from vaultseek.cluster import ray_cluster
from vaultseek.errors import ConfigError, Unavailable, UsageError


def test_an_installation_without_ray_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'vaultseek\[ray\]'"):
        ray_cluster.check_installed()


@pytest.mark.parametrize(
    "address", ["", "here", "host:", ":1", "host:0", "host:70000", "ray://", "http://h:1", "a:b"]
)
def test_a_wrong_address_is_said(address, monkeypatch):
    monkeypatch.setattr(ray_cluster, "check_installed", lambda: None)
    with (
        pytest.raises(UsageError, match="use local, HOST:PORT or ray://HOST:PORT"),
        ray_cluster.connected(address, "hashing", "hashing", 254),
    ):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "no-such-host.invalid:1"])
def test_an_address_where_nobody_answers_is_said(address, monkeypatch):
    monkeypatch.setattr(ray_cluster, "check_installed", lambda: None)
    with (
        pytest.raises(Unavailable, match="no Ray cluster answers at"),
        ray_cluster.connected(address, "hashing", "hashing", 254),
    ):
        pass
