"""The files that describe the service: units for systemd, and a property list for launchd.

This module neither accesses the disk nor runs programs.
"""

import plistlib
import re
from collections.abc import Iterable, Mapping, Sequence
from configparser import RawConfigParser
from io import StringIO
from pathlib import Path

LABEL = "vaultseek"
AGENT = "vaultseek.daemon"
MARK = "Written by `vaultseek service install`, which replaces it; `vaultseek service remove` removes it."

_SANDBOX = {
    "ProtectSystem": "strict",
    "PrivateTmp": "yes",
    "PrivateNetwork": "yes",
}
_HARDENED = {
    "NoNewPrivileges": "yes",
    "LockPersonality": "yes",
    "RestrictRealtime": "yes",
    "RestrictSUIDSGID": "yes",
    "SystemCallArchitectures": "native",
    "UMask": "0077",
}
# Characters to escape in a unit file; spaces are handled by quoting.
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f]')


def systemd_units(
    command: Sequence[str],
    socket: Path,
    environment: Mapping[str, str],
    writable: Iterable[Path],
    *,
    sandbox: bool,
    network: bool = False,
) -> dict[str, str]:
    """Return the user units, by file name: one for the daemon, and one for the socket, which starts the
    daemon when a client connects.

    ``sandbox`` denies the daemon network access and write access outside the ``writable`` folders. The
    sandbox works only if the system allows users to create namespaces. With ``network``, network access is
    allowed nevertheless, for settings that need it.
    """
    daemon = {
        "Unit": {
            "Description": "vaultseek: search Markdown notes",
            "Requires": f"{LABEL}.socket",
            "After": f"{LABEL}.socket",
            "StartLimitIntervalSec": "120",
            "StartLimitBurst": "5",
        },
        "Service": _service_section(command, environment) | (_sandbox(writable, network) if sandbox else {}),
        "Install": {"WantedBy": "default.target", "Also": f"{LABEL}.socket"},
    }
    listening = {
        "Unit": {"Description": "vaultseek's socket"},
        "Socket": {
            "ListenStream": _specifiers(str(socket)),
            "SocketMode": "0600",
            "DirectoryMode": "0700",
        },
        "Install": {"WantedBy": "sockets.target"},
    }
    return {f"{LABEL}.service": _ini(daemon), f"{LABEL}.socket": _ini(listening)}


def is_sandboxed(unit: str) -> bool:
    """Return True if the text of the daemon's unit contains the sandbox settings."""
    return f"\nPrivateTmp={_SANDBOX['PrivateTmp']}\n" in unit


def _service_section(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    variables = [_quoted(f"{name}={value}") for name, value in environment.items()]
    return {
        "Type": "notify",
        "ExecStart": " ".join(_quoted(word.replace("$", "$$")) for word in command),
        **({"Environment": " ".join(variables)} if variables else {}),
        "Restart": "on-failure",
        "RestartSec": "2",
        # Exit code 2 means an invalid setting, which a restart would not fix.
        "RestartPreventExitStatus": "2",
        "WatchdogSec": "60",
        "TimeoutStartSec": "60",
        "TimeoutStopSec": "20",
        **_HARDENED,
    }


def _sandbox(writable: Iterable[Path], network: bool) -> dict[str, str]:
    closed = {name: value for name, value in _SANDBOX.items() if not (network and name == "PrivateNetwork")}
    return closed | {"ReadWritePaths": " ".join(_quoted(str(folder)) for folder in writable)}


def launchd_agent(command: Sequence[str], environment: Mapping[str, str], log: Path) -> dict[str, str]:
    """Return the property list of the launchd agent, by file name."""
    agent = {
        "Label": AGENT,
        "ProgramArguments": list(command),
        **({"EnvironmentVariables": dict(environment)} if environment else {}),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ProcessType": "Background",
        "Umask": 0o077,
        "StandardErrorPath": str(log),
        "StandardOutPath": str(log),
    }
    text = plistlib.dumps(agent, sort_keys=False).decode()
    head, _, rest = text.partition("<plist")
    return {f"{AGENT}.plist": f"{head}<!-- {MARK} -->\n<plist{rest}"}


def _ini(sections: Mapping[str, Mapping[str, str]]) -> str:
    parser = RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep case
    parser.read_dict(sections)
    text = StringIO()
    parser.write(text, space_around_delimiters=False)
    return f"# {MARK}\n{text.getvalue().rstrip()}\n"


def _quoted(text: str) -> str:
    text = _specifiers(_TO_ESCAPE.sub(lambda match: f"\\x{ord(match[0]):02x}", text))
    return text if re.fullmatch(r"[\w/.,:=@%+$-]+", text) else f'"{text}"'


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")
