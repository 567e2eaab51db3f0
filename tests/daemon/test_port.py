"""The daemon runs without a port that it cannot open, and reports why."""

from unittest.mock import Mock

from vaultseek.daemon import main
from vaultseek.errors import Unavailable


async def test_why_the_port_is_not_open_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(main.LoopbackPort, "open", Mock(side_effect=Unavailable("no file can be written")))
    addresses: dict[str, str | None] = {}
    async with main._loopback(tmp_path / "daemon.sock", Mock(), addresses, enabled=True):
        assert addresses == {"daemon.tcp": "no file can be written"}
