"""Confine a process that reads untrusted files: it can open libraries, but no other files or network
connections, and cannot start programs.

Landlock restricts the file system, and a seccomp filter blocks other dangerous system calls. Both apply to
all threads started later and cannot be undone. A kind of protection that the kernel does not support is left
out.
"""

import contextlib
import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

LIBRARIES = ("/usr", "/lib", "/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache")
PROCESSORS = ("/proc/cpuinfo", "/sys/devices/system/cpu")
"""Files from which libraries read the number of processors and their instruction set."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of file access rights in early versions of Landlock; later versions have ``_ALL_FILE_RIGHTS``."""
_ALL_FILE_RIGHTS = 16
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
_NUMBER, _ARCHITECTURE = 0, 4
"""Offsets of the system call number and of the architecture in the data that a seccomp filter examines."""
_OTHER_NUMBERS = 0x40000000
"""Bit set in the numbers of the second set of system calls (x32) on x86-64."""
_REFUSED = {
    # socket, execve, execveat, ptrace, process_vm_readv, process_vm_writev, pidfd_getfd, io_uring_setup
    "x86_64": (0xC000003E, (41, 59, 322, 101, 310, 311, 438, 425)),
    "aarch64": (0xC00000B7, (198, 221, 281, 117, 270, 271, 438, 425)),
}


def confine() -> None:
    """Confine this process: it can then open no files except libraries, open no network connections, and
    start no programs or processes.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _close_files(libc)
    _filter_calls(libc)


def _given_up() -> tuple[int, tuple[int, ...]]:
    is_32_bit = sys.maxsize < 1 << 32
    return (0, ()) if is_32_bit else _REFUSED.get(os.uname().machine, (0, ()))


def _version(libc: ctypes.CDLL) -> int:
    return int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))


def _close_files(libc: ctypes.CDLL) -> None:
    version = _version(libc)
    if version <= 0:
        return
    files = (1 << _FILE_RIGHTS.get(version, _ALL_FILE_RIGHTS)) - 1
    network, scopes = (0b11 if version >= since else 0 for since in (_NETWORK_SINCE, _SCOPES_SINCE))
    attributes = struct.pack("=QQQ", files, network, scopes)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        return
    for path in _readable():
        with contextlib.suppress(OSError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rights = _READ_FILE | (_READ_DIR if path.is_dir() else 0)
            rule = struct.pack("=Qi", rights, place)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0))
            os.close(place)
    libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)


def _readable() -> Iterator[Path]:
    """Yield the folders of Python and of shared libraries, and the files that describe the processors."""
    own = Path(__file__).parents[3]
    names = dict.fromkeys((sys.prefix, sys.base_prefix, *sys.path, str(own), *LIBRARIES, *PROCESSORS))
    return (path for path in map(Path, filter(None, names)) if path.is_absolute() and path != Path("/"))


def _filter_calls(libc: ctypes.CDLL) -> None:
    architecture, refused = _given_up()
    if not refused:
        return
    tests = [(_EQUAL, number) for number in refused] + [(_AT_LEAST, _OTHER_NUMBERS)]
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, len(tests) + 2, architecture),
        (_LOAD, 0, 0, _NUMBER),
        *((test, len(tests) - at, 0, number) for at, (test, number) in enumerate(tests)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    head = struct.pack("@HP", len(steps), ctypes.addressof(program))
    libc.prctl(_PR_SET_SECCOMP, _FILTER, head, 0, 0)
