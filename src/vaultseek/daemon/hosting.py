"""The location of a daemon's vaults: by default, folders on this machine with all indexes in one directory.

Another package may replace the class, to keep indexes on a server or to read indexes from other machines.
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
    """The default location of vaults: folders on this machine."""

    has_folders = True
    """False if all vaults are on other machines; vaults added by the user are then not listed."""
    problem: Unavailable | None = None
    """The reason why the most recent list of vaults may be incomplete, or None."""

    def listed(self, settings: Settings) -> Settings:
        """Return the settings with the list of vaults to open. Called in a thread."""
        return settings

    async def follow(self, list_again: Callable[[], Awaitable[None]]) -> None:
        """Call ``list_again`` whenever the list of vaults may have changed."""

    def known(
        self, settings: Settings, opened: Sequence[VaultOptions], paused: frozenset[Path]
    ) -> KnownVaults:
        """Return the vaults that requests can refer to."""
        return KnownVaults(settings, opened, paused, self.storage)

    def storage(self, settings: Settings, root: Path) -> Storage:
        """Return the storage location for the index of the vault at ``root``."""
        return LOCAL

    def source(self, vault: OpenVault, scans: Scans, reporter: ActivityReporter) -> Source | None:
        """Return the source of an open vault, or None if the source is the vault's folder."""
        return None

    def tasks(self, vault: OpenVault) -> Iterable[tuple[Work, str]]:
        """Return additional tasks for an open vault, with their names."""
        return ()

    def check_change(self) -> None:
        """Check that vaults can be added, paused and resumed. Raises UsageError if they cannot."""

    def check_deletable(self, settings: Settings, directory: Path) -> None:
        """Check that an index can be deleted. Raises Unavailable if it cannot. Called in a thread."""

    def delete(self, settings: Settings, directory: Path) -> None:
        """Delete the parts of an index that are stored outside its folder. Called in a thread."""

    def forget(self, settings: Settings, root: Path, vault: OpenVault | None, *, drop: bool) -> bool:
        """Forget a vault on another machine, and with ``drop`` also delete its index there. Return False for
        a vault on this machine.

        Called in a thread. Raises UsageError or Unavailable.
        """
        return False


def hosting_of(settings: Settings, **options: str) -> Hosting:
    """Return another package's `Hosting`, created with ``options`` from the command line, or else the
    default.

    Raises ConfigError if the settings do not allow the options.
    """
    for make in plugins.load("hosting").values():
        hosting: Hosting = make(settings, **options)
        return hosting
    return Hosting()
