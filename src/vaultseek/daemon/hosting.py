"""The place of a daemon's vaults: by default folders on this machine, with all indexes in one directory.

Another package may add a hosting that keeps indexes on a server, or reads the indexes of other machines.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from vaultseek import plugins
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.storage import LOCAL, Storage
from vaultseek.daemon.activity import ActivityReporter
from vaultseek.daemon.known_vaults import KnownVaults
from vaultseek.daemon.scans import Scans
from vaultseek.daemon.sources import Source
from vaultseek.daemon.tasks import Work
from vaultseek.errors import Unavailable
from vaultseek.settings.model import Settings


class Hosting:
    """Folders of this machine."""

    has_folders = True
    """False if all vaults are elsewhere; vaults that the user added are then not listed."""
    problem: Unavailable | None = None
    """The reason why the last list of vaults may be incomplete, or None."""

    def listed(self, settings: Settings) -> Settings:
        """Return the settings with the vaults to open. Called in a thread."""
        return settings

    async def follow(self, list_again: Callable[[], Awaitable[None]]) -> None:
        """Call ``list_again`` whenever the list of vaults may have changed."""

    def known(
        self, settings: Settings, opened: Sequence[VaultOptions], paused: frozenset[Path]
    ) -> KnownVaults:
        """Return the vaults that requests can name."""
        return KnownVaults(settings, opened, paused, self.storage)

    def storage(self, settings: Settings, root: Path) -> Storage:
        """Return the place of the index of the vault at ``root``."""
        return LOCAL

    def source(self, vault: OpenVault, scans: Scans, reporter: ActivityReporter) -> Source | None:
        """Return the source of an open vault; None for its folder."""
        return None

    def tasks(self, vault: OpenVault) -> Iterable[tuple[Work, str]]:
        """Yield further tasks of an open vault, with their names."""
        return ()

    def check_change(self) -> None:
        """Raise UsageError if vaults cannot be added, paused or resumed here."""

    def check_deletable(self, settings: Settings, directory: Path) -> None:
        """Raise Unavailable if an index cannot be deleted. Called in a thread."""

    def delete(self, settings: Settings, directory: Path) -> None:
        """Delete what an index has outside its folder. Called in a thread."""

    def forget(self, settings: Settings, root: Path, vault: OpenVault | None, *, drop: bool) -> bool:
        """Forget a vault of another machine, and with ``drop`` delete its index there; return False for a
        vault of this machine.

        Called in a thread. Raises UsageError or Unavailable.
        """
        return False


def hosting_of(settings: Settings, **options: str) -> Hosting:
    """Return the hosting that another package adds, created with ``options`` from the command line, or else
    the default one.

    Raises ConfigError if the settings do not allow the options.
    """
    for make in plugins.load("hosting").values():
        hosting: Hosting = make(settings, **options)
        return hosting
    return Hosting()
