"""The lock, the folder and the socket of the endpoint."""

import contextlib
import fcntl
import os
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from vaultseek.base import paths
from vaultseek.errors import AlreadyRunning, Unavailable
from vaultseek.protocol.wire import endpoint, reach
from vaultseek.protocol.wire.endpoint import Endpoint


@pytest.fixture
def path() -> Path:
    return paths.socket_file()


@pytest.fixture
def opened(path):
    one = Endpoint.open(path)
    yield one
    one.close()


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, reach.address(path) as place:
        try:
            client.connect(place)
        except OSError:
            return False
        return True


def bind(unbound: socket.socket, path: Path) -> None:
    with reach.address(path) as place:
        unbound.bind(place)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def open_descriptors() -> list[int]:
    descriptors = [int(place.name) for place in Path("/proc/self/fd").iterdir()]
    return [fd for fd in descriptors if Path(f"/proc/self/fd/{fd}").is_symlink()]


def run(code: str, path: Path, **more) -> subprocess.Popen:
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **more)


HOLD = """
    import sys
    from pathlib import Path
    from vaultseek.protocol.wire.endpoint import Endpoint
    held = Endpoint.open(Path(sys.argv[1]))
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.fault("G6")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes_do_not_depend_on_the_umask(tmp_path, umask):
    path = tmp_path / "state" / "vaultseek" / "run" / "daemon.sock"
    before = os.umask(umask)
    try:
        one = Endpoint.open(path)
        seen = [mode(place) for place in (path, path.with_suffix(".lock"))]
        folders = [mode(place) for place in list(path.parents)[:3]]
        one.close()
    finally:
        os.umask(before)
    assert seen[0] == 0o600
    assert seen[1] & 0o177 == 0
    assert all(folder & 0o077 == 0 for folder in folders)


def test_the_default_path_is_in_the_users_folder():
    one = Endpoint.open()
    assert one.path == paths.socket_file()
    assert connects(one.path)
    one.close()
    assert not one.path.exists()


def test_the_socket_does_not_block_and_no_child_inherits_anything(opened):
    assert not opened.socket.getblocking()
    folder = str(opened.path.parent)
    ours = [fd for fd in open_descriptors() if folder in os.readlink(f"/proc/self/fd/{fd}")]  # noqa: PTH115
    assert ours
    assert not any(os.get_inheritable(fd) for fd in [*ours, opened.socket.fileno()])


@pytest.mark.fault("G1")
def test_a_second_daemon_is_refused_and_the_first_unharmed(opened, path):
    for _ in range(20):
        with pytest.raises(AlreadyRunning, match=rf"pid {os.getpid()}\b"):
            Endpoint.open(path)
    assert connects(path)
    assert opened.is_ours()


@pytest.mark.fault("G11")
def test_the_pid_in_the_lock_file_is_only_displayed(opened, path):
    for written in (b"1\n", b"not a pid", b"", b"9" * 1000):
        path.with_suffix(".lock").write_bytes(written)
        with pytest.raises(AlreadyRunning):
            Endpoint.open(path)


def test_a_lock_file_without_a_daemon_is_no_obstacle(path):
    paths.private_directory(path.parent)
    path.with_suffix(".lock").write_text("1\n")
    one = Endpoint.open(path)
    assert path.with_suffix(".lock").read_text() == f"{os.getpid()} {os.uname().nodename.split('.')[0]}\n"
    one.close()


@pytest.mark.fault("G9")
def test_a_deleted_lock_file_does_not_let_a_second_daemon_in(opened, path, monkeypatch):
    monkeypatch.setattr(endpoint, "LOCK_SECONDS", 0.0)
    path.with_suffix(".lock").unlink()
    with pytest.raises(AlreadyRunning):
        Endpoint.open(path)
    assert connects(path)


def test_a_brief_lock_of_a_cleaner_on_the_folder_is_waited_for(path, monkeypatch):
    folder = os.open(paths.private_directory(path.parent), os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    monkeypatch.setattr(endpoint.time, "sleep", lambda _: fcntl.flock(folder, fcntl.LOCK_UN))
    Endpoint.open(path).close()
    os.close(folder)


@pytest.mark.fault("G2")
def test_the_socket_of_a_killed_daemon_is_replaced(path):
    with run(HOLD, path, stdin=subprocess.PIPE) as dead:
        assert dead.stdout.readline() == "held\n"
        with pytest.raises(AlreadyRunning):
            Endpoint.open(path)
        dead.kill()
    assert path.exists()
    assert not connects(path)
    one = Endpoint.open(path)
    assert connects(path)
    one.close()


@pytest.mark.fault("G10")
def test_the_lock_ends_with_the_daemon_even_if_its_children_live(path):
    code = HOLD.replace(
        "sys.stdin.read()",
        """import subprocess
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=0, close_fds=False)
    child.wait()""",
    )
    with run(code, path, stdin=subprocess.PIPE) as dead:
        assert dead.stdout.readline() == "held\n"
        dead.kill()
        dead.wait()
        Endpoint.open(path).close()
        dead.stdin.close()


@pytest.mark.fault("G3")
@pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling link", "fifo"])
def test_files_that_are_not_our_socket_are_never_removed(path, tmp_path, kind):
    paths.private_directory(path.parent)
    target = tmp_path / "target"
    if kind == "link":
        target.write_text("precious")
    make = {
        "file": lambda: path.write_text("precious"),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to(target),
        "dangling link": lambda: path.symlink_to(target),
        "fifo": lambda: os.mkfifo(path),
    }
    make[kind]()
    before = path.lstat()
    with pytest.raises(Unavailable, match=r"daemon\.sock is not vaultseek's socket"):
        Endpoint.open(path)
    assert path.lstat().st_ino == before.st_ino


def test_a_live_socket_without_the_lock_is_not_replaced(path):
    paths.private_directory(path.parent)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
        bind(stranger, path)
        stranger.listen()
        with pytest.raises(AlreadyRunning, match="another program answers"):
            Endpoint.open(path)
        assert connects(path)


@pytest.mark.parametrize("kind", ["folder", "fifo", "link"])
def test_a_foreign_lock_file_is_refused(path, tmp_path, kind):
    paths.private_directory(path.parent)
    lock = path.with_suffix(".lock")
    target = tmp_path / "target"
    target.write_text("precious")
    {"folder": lock.mkdir, "fifo": lambda: os.mkfifo(lock), "link": lambda: lock.symlink_to(target)}[kind]()
    with pytest.raises(Unavailable, match=r"daemon\.lock"):
        Endpoint.open(path)
    assert target.read_text() == "precious"


def test_our_own_folder_is_made_private(path):
    paths.private_directory(path.parent).chmod(0o777)
    Endpoint.open(path).close()
    assert mode(path.parent) == 0o700


@pytest.mark.fault("G4")
def test_a_configured_folder_that_others_may_write_to_is_refused_and_not_changed(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(Unavailable, match="other users can write"):
        Endpoint.open(shared / "daemon.sock")
    assert mode(shared) == 0o1777


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_path_that_is_not_a_folder_is_refused(path, tmp_path, kind):
    path.parent.parent.mkdir(parents=True)
    if kind == "file":
        path.parent.write_text("")
    else:
        path.parent.symlink_to(tmp_path)
    with pytest.raises(Unavailable, match="cannot be used for the socket"):
        Endpoint.open(path)


@pytest.mark.fault("G4")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("whose", ["folder", "lock", "socket"])
def test_files_of_another_user_are_refused(path, whose):
    Endpoint.open(path).close()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        bind(left, path)
    place = {"folder": path.parent, "lock": path.with_suffix(".lock"), "socket": path}[whose]
    os.chown(place, 65534, 65534)
    with pytest.raises(Unavailable):
        Endpoint.open(path)
    assert place.lstat().st_uid == 65534


@pytest.mark.fault("G8")
def test_a_path_too_long_for_a_socket_address_works_all_the_same(tmp_path):
    path = tmp_path.joinpath(*["a" * 100] * 3, "daemon.sock")
    one = Endpoint.open(path)
    assert connects(path)
    assert one.is_ours()
    one.close()
    assert not path.exists()


def test_a_path_that_is_too_long_is_reported_without_proc(tmp_path, monkeypatch):
    monkeypatch.setattr(endpoint.os, "access", lambda *_: False)
    with pytest.raises(Unavailable, match="too long"):
        Endpoint.open(tmp_path.joinpath(*["a" * 100] * 3, "daemon.sock"))


@pytest.mark.fault("G7")
def test_a_removed_socket_file_is_noticed_and_bound_again(opened, path):
    assert opened.is_ours()
    path.unlink()
    assert not opened.is_ours()
    with opened.socket:
        opened.restore()
    assert opened.is_ours()
    assert connects(path)
    assert mode(path) == 0o600


@pytest.mark.fault("G7")
@pytest.mark.parametrize("what", ["lock", "folder", "indexes"])
def test_what_was_removed_under_the_daemon_is_there_again(opened, path, what):
    before = opened.socket
    removed = {"lock": path.with_suffix(".lock"), "folder": path.parent, "indexes": path.parents[1]}[what]
    paths.remove(removed)
    assert not opened.is_ours()
    with before if what != "lock" else contextlib.nullcontext():
        opened.restore()
    assert opened.is_ours()
    assert connects(path)
    assert reach.holder(path) == os.getpid()
    with pytest.raises(AlreadyRunning, match=rf"pid {os.getpid()}\b"):
        Endpoint.open(path)
    assert [mode(place) for place in (path.parent, path)] == [0o700, 0o600]


def test_a_daemon_that_finds_another_one_in_its_place_leaves_it_alone(path):
    one = Endpoint.open(path)
    paths.remove(path.parent)
    other = Endpoint.open(path)
    with pytest.raises(AlreadyRunning):
        one.restore()
    one.close()
    assert other.is_ours()
    assert connects(path)
    other.close()


def test_the_socket_file_of_another_daemon_is_not_removed_on_close(path):
    one = Endpoint.open(path)
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        bind(other, path)
        other.listen()
        assert not one.is_ours()
        with pytest.raises(AlreadyRunning):
            one.restore()
        one.close()
        assert connects(path)


def test_after_close_the_next_daemon_can_start(path):
    for _ in range(3):
        Endpoint.open(path).close()
    assert not path.exists()


def test_no_descriptor_leaks_after_a_refusal(path):
    paths.private_directory(path.parent)
    path.write_text("")
    before = len(open_descriptors())
    for _ in range(3):
        with pytest.raises(Unavailable):
            Endpoint.open(path)
    assert len(open_descriptors()) == before
    path.unlink()
    Endpoint.open(path).close()


def test_the_kernel_identifies_the_peer():
    left, right = socket.socketpair()
    with left, right:
        assert reach.peer_uid(left) == os.geteuid()
        assert reach.peer_is_us(right)


@pytest.mark.fault("G5")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_is_distinguished(path):
    one = Endpoint.open(path)
    path.chmod(0o666)
    for folder in path.parents:
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(0o711)
    code = """
        import os, socket, sys
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(sys.argv[1])
            client.recv(1)
    """
    with run(code, path) as other:
        one.socket.setblocking(True)
        connection, _ = one.socket.accept()
        assert reach.peer_uid(connection) == 65534
        assert not reach.peer_is_us(connection)
        connection.close()
    one.close()
    assert other.returncode == 0


ACTIVATED = """
    import os, sys
    from pathlib import Path
    from vaultseek.protocol.wire.endpoint import Endpoint
    if sys.argv[2] == "ours":
        os.environ["LISTEN_PID"] = str(os.getpid())
    one = Endpoint.open(Path(sys.argv[1]))
    print(one.socket.fileno(), one.is_ours(), "LISTEN_FDS" in os.environ, flush=True)
    one.close()
"""


def activate(path: Path, whose: str, handed: Path) -> str:
    """Run ACTIVATED as a service manager would: the socket, bound to ``handed``, is descriptor 3."""
    starter = f"""
        import os, subprocess, socket, sys
        from vaultseek.protocol.wire import reach
        handed = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with reach.address({str(handed)!r}) as place:
            handed.bind(place)
        os.chmod({str(handed)!r}, 0o600)
        handed.listen()
        os.dup2(handed.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_FDS="1", LISTEN_PID="1")
        code = {textwrap.dedent(ACTIVATED)!r}
        os.execv(sys.executable, [sys.executable, "-c", code, sys.argv[1], {whose!r}])
    """
    with run(starter, path) as process:
        return process.stdout.read().strip()


def test_a_socket_handed_over_by_a_service_manager_is_used_and_left_in_place(path):
    paths.private_directory(path.parent)
    assert activate(path, "ours", path) == "3 True False"
    assert path.exists()


@pytest.mark.fault("G15")
def test_a_socket_handed_over_to_somebody_else_is_not_touched(path, tmp_path):
    number, ours, environment = activate(path, "not ours", tmp_path / "handed.sock").split()
    assert number != "3"
    assert (ours, environment) == ("True", "True")
    assert (tmp_path / "handed.sock").exists()


def test_the_holder_is_reported_without_taking_the_lock(path):
    assert reach.holder(path) is None
    one = Endpoint.open(path)
    path.unlink()
    assert [reach.holder(path), reach.holder(path)] == [os.getpid()] * 2
    one.close()
    assert reach.holder(path) is None
    Endpoint.open(path).close()


def test_the_process_id_of_a_daemon_on_another_machine_is_none_of_ours(opened, path):
    """A home directory on a network file system has one lock for all machines."""
    path.with_suffix(".lock").write_text(f"{os.getpid()} another-machine\n")
    assert reach.holder(path) == 0
