"""The vaults known to a daemon, and the choice of the vault for a request."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.text import fold
from vaultseek.content.files.obsidian import has_obsidian
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.indexing.renamed_folder import former_root
from vaultseek.core.indexing.storage import Storage
from vaultseek.errors import UsageError, VaultMissing, VaultseekError, advise
from vaultseek.settings.model import Settings, VaultSettings, vault_name


@dataclass(frozen=True, slots=True)
class KnownVaults:
    """The vaults in the settings, and vaults that were opened because a request gave their folder.

    Vaults whose folders are in ``paused`` are not kept up to date. ``storage`` returns the location of a
    vault's index.
    """

    settings: Settings
    opened: Sequence[VaultOptions]
    paused: frozenset[Path]
    storage: Callable[[Settings, Path], Storage]

    def names(self) -> dict[Path, str]:
        """Return the names of the configured vaults and of the open vaults, by folder."""
        names = {entry.path: entry.name for entry in self.settings.vaults}
        return names | {vault.root: vault.name for vault in self.opened}

    def named(self, name: str, folder: str | None) -> VaultOptions:
        """Return the vault whose name or path is ``name``; the path may be relative to ``folder``.

        Raises UsageError or VaultMissing.
        """
        for entry in self.settings.vaults:
            if entry.name.casefold() == name.casefold():
                return self._configured(entry)
        for vault in self.opened:
            if vault.name == name:
                return vault
        path = Path(name).expanduser()
        if not path.is_absolute() and folder and paths.is_folder(Path(folder) / path):
            path = Path(folder) / path
        if not path.is_absolute():
            like = _similar(name, self.names().values())
            raise self.unresolved(VaultMissing, f"no vault named {name!r} and no such folder;{like}")
        if not paths.is_folder(path) and Path(os.path.realpath(path)) not in self.names():
            problem = paths.no_folder_reason(path)
            raise self.unresolved(VaultMissing, f"no vault at {path}: {problem};")
        return self.at(path)

    def around(self, folder: str | None) -> VaultOptions:
        """Return the vault that contains ``folder`` or, outside all vaults, the only known vault. Raises
        UsageError if there is no vault or more than one."""
        here = Path(os.path.realpath(folder)) if folder else None
        if here is not None:
            inside = [entry for entry in self.settings.vaults if here.is_relative_to(entry.path)]
            if inside:
                return self._configured(max(inside, key=lambda entry: len(entry.path.parts)))
            is_any_gone = any(not paths.is_folder(entry.path) for entry in self.settings.vaults)
            for above in (here, *here.parents):
                if has_obsidian(above) or (is_any_gone and former_root(above) is not None):
                    return self.at(above)
        known = self.names()
        if len(known) == 1:
            return self.at(next(iter(known)))
        raise self.unresolved(UsageError, "which vault?")

    def at(self, path: Path) -> VaultOptions:
        """Return the vault at a path, even if it is a new vault. Raises UsageError if the path cannot be a
        vault."""
        root = Path(os.path.realpath(path))
        for entry in self.settings.vaults:
            if entry.path == root:
                return self._configured(entry)
        for vault in self.opened:
            if vault.root == root:
                return vault
        return self.new_at(root)

    def new_at(self, root: Path) -> VaultOptions:
        """Return the options of a new vault at a resolved path. Raises UsageError if the path cannot be a
        vault."""
        check_vault_folder(root)
        return self._options(self.free_name(root), root)

    def configured(self) -> list[VaultOptions]:
        """Return the vaults in the settings."""
        return [self._configured(entry) for entry in self.settings.vaults]

    def unresolved(self, kind: type[VaultseekError], problem: str) -> VaultseekError:
        """Return an error for a request that names no known vault; the message lists the known vaults."""
        if names := self.names().values():
            message = f"{problem} add one, or choose one (known: {', '.join(names)})"
            return kind(message, advice=advise("choose", *names))
        return kind(f"{problem} add a folder of notes", advice=advise("add"))

    def free_name(self, root: Path) -> str:
        """Return a name for the vault at ``root``, with a number appended if another vault has the same name.

        A vault that was moved to ``root`` does not count as another vault.
        """
        name, former = vault_name(root), former_root(root)
        used = {entry.name.casefold() for entry in self.settings.vaults if entry.path != former}
        used |= {vault.name.casefold() for vault in self.opened if vault.root not in (root, former)}
        candidates = [name, *(f"{name}-{number}" for number in range(2, len(used) + 3))]
        return next(candidate for candidate in candidates if candidate.casefold() not in used)

    def _configured(self, entry: VaultSettings) -> VaultOptions:
        return self._options(entry.name, entry.path, entry.exclude, entry.language)

    def _options(
        self, name: str, root: Path, exclude: tuple[str, ...] = (), language: str | None = None
    ) -> VaultOptions:
        index, daemon = self.settings.index, self.settings.daemon
        storage = self.storage(self.settings, root)
        return VaultOptions(
            name,
            root,
            (*index.exclude, *exclude),
            language,
            rescan_seconds=daemon.rescan_minutes * 60,
            max_note_bytes=index.max_note_bytes,
            kinds=index.kinds,
            paused=root in self.paused and storage.has_folder,
            expansion=self.settings.search.expansion.enabled,
            storage=storage,
        )


def _similar(name: str, known: Iterable[str]) -> str:
    by_folded = {fold(each): each for each in known}
    prefixed = [each for each in by_folded if each.startswith(fold(name))]
    close = prefixed or get_close_matches(fold(name), by_folded, 1)
    return f" did you mean {by_folded[close[0]]}?" if close else ""


def check_vault_folder(root: Path) -> None:
    """Check that ``root`` can be a vault. Raises UsageError if it belongs to the system or to vaultseek, or
    contains the home directory."""
    reason = paths.unsuitable_vault_reason(root)
    if reason is not None:
        raise UsageError(f"{root} {reason}; use the folder of your notes")
