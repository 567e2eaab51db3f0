"""``vaultseek uninstall``: removal of vaultseek's files in the user's folders, after listing them."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from vaultseek.base import paths
from vaultseek.base.extras import uninstall_command
from vaultseek.doors.cli.commands.service import installed_files, remove_service
from vaultseek.doors.cli.commands.skill import installed_skills
from vaultseek.doors.cli.connect import daemon_pid, stop_daemon
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import is_confirmed, local_options
from vaultseek.doors.cli.terminal import clean, size
from vaultseek.errors import ConfigError, Unavailable


@click.command()
@click.option("--yes", is_flag=True, help="Remove it without asking.")
@local_options
def uninstall(invocation: Invocation, /, yes: bool) -> int:
    """Remove indexes, logs, settings and the service. Your notes stay.

    Shows what it would remove, then asks. Close editors and agents that use vaultseek first, since they start
    the daemon again. The last line is the command that removes the program itself.
    """
    from vaultseek.settings.load import examine
    from vaultseek.settings.model import Settings
    from vaultseek.tools.doctor.vaults import known_vaults

    try:
        settings, _ = examine(invocation.config)
    except ConfigError:
        settings = Settings()
    vaults = [vault.root for vault in known_vaults(settings)]
    places = [*_places(vaults)]
    removed = [place for place in places if not place.left_because]
    runs = daemon_pid() is not None
    for line in (*(["the daemon, which is stopped first"] if runs else []), *removed):
        print(clean(f"to remove: {line}"))
    for place in places:
        if place.left_because:
            print(clean(f"not touched: {place.path}, {place.left_because}"))
    for root in vaults:
        print(clean(f"not touched: the notes in {root}"))
    if settings.index.engine is not None:
        print(clean(f"not touched: the copy of the notes at {settings.index.uri}; delete it there"))
    if not (removed or runs):
        print("there is nothing to remove in your folders")
    elif yes or is_confirmed("Remove this?"):
        remove_service()
        stop_daemon()
        for place in removed:
            _remove(place)
        print("removed")
    else:
        print("nothing was removed")
    print(clean(f"to remove the program, run `{uninstall_command()}`"))
    return SUCCESS


@dataclass(frozen=True, slots=True)
class _Place:
    """A file or folder created by vaultseek, its content, and the reason if it is kept.

    ``follow`` is True if a link there may be followed, because its target belongs to vaultseek.
    """

    path: Path
    content: str
    follow: bool = False
    left_because: str = ""

    def __str__(self) -> str:
        real = self.path.resolve()
        link = f" (a link to {real})" if self.path.is_symlink() and self.follow else ""
        return f"{self.path}{link}: {self.content}, {size(paths.folder_bytes(real))}"


def _places(vaults: Sequence[Path]) -> Iterator[_Place]:
    """Yield the existing files and folders of vaultseek. On macOS, indexes, logs and settings share a
    folder."""
    for file in installed_files():
        yield _Place(file, "the service")
    for file in installed_skills(Path.home()):
        yield _Place(file, "the skill for agents")
    contents: dict[Path, list[str]] = {}
    for folder, content in (
        (paths.data_directory(), "indexes with the text of your notes, the list of vaults, models"),
        (paths.state_directory(), "logs and tokens"),
        (paths.config_file().parent, "settings"),
    ):
        if os.path.lexists(folder):
            contents.setdefault(folder, []).append(content)
    for folder, parts in contents.items():
        # A link may keep the settings elsewhere, together with those of other programs.
        follow = parts != ["settings"]
        yield _Place(folder, ", ".join(parts), follow, _reason_to_leave(folder, vaults))


def _reason_to_leave(folder: Path, vaults: Iterable[Path]) -> str:
    real = folder.resolve()
    for root in vaults:
        if real.is_relative_to(root) or root.is_relative_to(real):
            return f"because it and the vault {root} overlap"
    if Path(sys.prefix).resolve().is_relative_to(real):
        return "because the program itself is in it"
    return "" if folder.lstat().st_uid == os.geteuid() else "because it belongs to another user"


def _remove(place: _Place) -> None:
    try:
        if place.follow:
            paths.remove(place.path.resolve())
        paths.remove(place.path)
        if place.path.parent.name == paths.APP:
            with contextlib.suppress(OSError):
                place.path.parent.rmdir()
    except OSError as error:
        problem = f"cannot remove {error.filename or place.path}: {error.strerror or error}"
        raise Unavailable(f"{problem}; remove it yourself, or run this again") from None
