"""The user who opened a connection: a session is only for the user who runs the page."""

import os
import socket
import sys

import pytest

from vaultseek.doors.ui.gate import is_allowed_peer, user_of

ROW = "   0: 0100007F:C001 0100007F:1F3F 01 00000000:00000000 00:00000000 00000000  {user} 0 1 1 0000 20 4 0"
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ENDS = ("127.0.0.1", 0xC001), ("127.0.0.1", 0x1F3F)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the users of connections")
def test_the_kernel_knows_the_user_of_a_connection():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as one,
    ):
        assert user_of(one.getsockname(), server.getsockname()) == os.geteuid()
        assert is_allowed_peer(one.getsockname(), server.getsockname())


@pytest.mark.parametrize(("user", "welcome"), [(os.geteuid(), True), (0, True), (65533, False)])
def test_another_user_is_not_welcome(tmp_path, user, welcome):
    table = tmp_path / "tcp"
    table.write_text(HEAD + ROW.format(user=user) + "\n")
    assert user_of(*ENDS, table) == user
    assert is_allowed_peer(*ENDS, table) is welcome


@pytest.mark.parametrize("text", ["", HEAD, HEAD + "x\n", HEAD + "0: 0100007F:C001 0100007F:1F3F\n"])
def test_what_the_kernel_does_not_say_keeps_nobody_out(tmp_path, text):
    table = tmp_path / "tcp"
    table.write_text(text)
    assert user_of(*ENDS, table) is None
    assert is_allowed_peer(*ENDS, table)
    assert is_allowed_peer(*ENDS, tmp_path / "none")
    assert is_allowed_peer(None, None)
