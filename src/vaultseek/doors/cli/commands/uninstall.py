"""``vaultseek uninstall``: remove vaultseek's files from the user's folders after listing them."""

import contextlib
import os
import re
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
from vaultseek.semantic.models.fetch import recorded_digests


@click.command()
@click.option("--yes", is_flag=True, help="Remove without asking.")
@local_options
def uninstall(invocation: Invocation, /, yes: bool) -> int:
    """Remove indexes, logs, settings and the service. Your notes stay.

    Shows what it would remove, then asks. Files that you put into vaultseek's folders stay and are listed,
    except files inside an index folder. Close editors and agents that use vaultseek first, since they
    start the daemon again. The last line is the command that removes the program itself.
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
    removed = [place for place in places if not place.left_because and (place.own or not place.foreign)]
    runs = daemon_pid() is not None
    for line in (*(["the daemon, which is stopped first"] if runs else []), *removed):
        print(clean(f"to remove: {line}"))
    for place in places:
        if place.left_because:
            print(clean(f"not touched: {place.path}, {place.left_because}"))
        for foreign in place.foreign:
            print(clean(f"not touched: {foreign}, because vaultseek did not create it"))
    for root in vaults:
        print(clean(f"not touched: the notes in {root}"))
    if settings.index.kept_at:
        print(clean(f"not touched: the copy of the notes at {settings.index.kept_at}; delete it there"))
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
    """A file or folder created by vaultseek, with a description of its content.

    ``left_because`` is the reason why the place is kept; if it is "", the files in ``own`` are removed. The
    files in ``foreign`` come from other programs or people. ``follow`` is True if ``path`` may be a symbolic
    link to be followed, because its target belongs to vaultseek.
    """

    path: Path
    content: str
    own: Sequence[Path]
    foreign: Sequence[Path] = ()
    follow: bool = False
    left_because: str = ""

    def __str__(self) -> str:
        link = f" (a link to {self.path.resolve()})" if self.path.is_symlink() and self.follow else ""
        return f"{self.path}{link}: {self.content}, {size(sum(map(_bytes, self.own)))}"


_FOLDERS = ("vaults", "evaluate", "shards", "run", "models")
OWN = re.compile(
    r"vaults\.json|vaults/[^/]+-[0-9a-f]{12}|evaluate/[^/]+-[0-9a-f]{12}|shards/known\.json|run/(daemon|launch)\.\w+"
    r"|models/(fetched\.json|lock|\.[^/]+)|backend-migration\.json|served-[0-9a-f]+\.json|(ui|mcp)\.token"
    r"|(daemon|worker[^/]*|audit)\.(log|crash)(\.\d+)?|config\.toml"
    r"|(\w+/)?\.(vaults|known|fetched|config|backend-migration|served-\w+)\.(json|toml)\.\d+"
)
"""Pattern of the paths that vaultseek creates in its folders, except for fetched models."""


def _places(vaults: Sequence[Path]) -> Iterator[_Place]:
    """Yield vaultseek's existing files and folders. On macOS, indexes, logs and settings share a folder."""
    for file in installed_files():
        yield _Place(file, "the service", [file])
    for file in installed_skills(Path.home()):
        yield _Place(file, "the skill for agents", [file])
    contents: dict[Path, list[str]] = {}
    for folder, content in (
        (paths.data_directory(), "indexes with the text of your notes, the list of vaults, models"),
        (paths.state_directory(), "logs and tokens"),
        (paths.config_file().parent, "settings"),
    ):
        if os.path.lexists(folder):
            contents.setdefault(folder, []).append(content)
    for folder, parts in contents.items():
        # The settings may be behind a symbolic link, in a folder shared with other programs.
        follow = parts != ["settings"]
        reason = _reason_to_leave(folder, vaults)
        own, foreign = ([], []) if reason else _content(folder, follow=follow)
        yield _Place(folder, ", ".join(parts), own, foreign, follow, reason)


def _content(folder: Path, *, follow: bool) -> tuple[list[Path], list[Path]]:
    """Return the content of a folder as two lists: paths created by vaultseek, and other paths."""
    if folder.is_symlink() and not follow:
        return [folder], []
    real = folder.resolve()
    models = {f"models/{name.replace('/', '--')}" for name in recorded_digests()}
    inside = [real / name for name in _FOLDERS if _is_folder(real / name)]
    own: list[Path] = []
    foreign: list[Path] = []
    for each in sorted(file for parent in (real, *inside) for file in parent.iterdir()):
        name = each.relative_to(real).as_posix()
        if OWN.fullmatch(name) or name in models:
            own.append(each)
        elif each not in inside:
            foreign.append(each)
    return own, foreign


def _bytes(path: Path) -> int:
    return paths.folder_bytes(path) if _is_folder(path) else path.lstat().st_size


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _reason_to_leave(folder: Path, vaults: Iterable[Path]) -> str:
    real = folder.resolve()
    for root in vaults:
        if real.is_relative_to(root) or root.is_relative_to(real):
            return f"because it overlaps with the vault {root}"
    if Path(sys.prefix).resolve().is_relative_to(real):
        return "because it contains the program itself"
    return "" if folder.lstat().st_uid == os.geteuid() else "because it belongs to another user"


def _remove(place: _Place) -> None:
    """Remove everything that vaultseek created at ``place``, even after the listing, and then remove empty
    folders."""
    try:
        if not _is_folder(place.path.resolve() if place.follow else place.path):
            paths.remove(place.path)
            if place.path.parent.name == paths.APP:
                _remove_empty(place.path.parent)
            return
        for each in _content(place.path, follow=place.follow)[0]:
            paths.remove(each)
        real = place.path.resolve()
        for folder in (*(real / name for name in _FOLDERS), real):
            _remove_empty(folder)
        if not real.exists():
            place.path.unlink(missing_ok=True)
    except OSError as error:
        problem = f"cannot remove {error.filename or place.path}: {error.strerror or error}"
        raise Unavailable(f"{problem}; remove it yourself, or run this again") from None


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
