"""Checks of vaults: their notes must be readable, and their indexes intact."""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vaultseek.base import limits, paths
from vaultseek.base.text import count
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.files.scan import scan
from vaultseek.content.kinds import DEFAULT_SWITCHES
from vaultseek.core.indexing.audit import audit
from vaultseek.core.indexing.store_migration import store_folder
from vaultseek.core.indexing.unembedded import EmbeddingSpec, Unembedded
from vaultseek.errors import IndexDamaged
from vaultseek.semantic.models.catalogue import BUNDLED, find_model
from vaultseek.semantic.vectors.matrix_file import examine as examine_vectors
from vaultseek.semantic.worker import CHUNKS, NOTES
from vaultseek.settings.model import Settings, vault_name
from vaultseek.settings.watch import read_registry
from vaultseek.store.keyword import index as keyword
from vaultseek.store.ledger import Ledger, examine_stored
from vaultseek.store.ledger import examine as examine_ledger
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding

AUDIT_SECONDS = 20.0
"""Maximum seconds for the audit of one vault; in a small vault, all notes are compared with the index."""
LISTED = 5
"""Maximum number of files listed in a finding."""
_OUTDATED = (
    "please report this; run `vaultseek stop`, delete `semantic` in the vault's index, "
    "and run `vaultseek start`"
)
_WAIT = "`vaultseek status` shows the progress; try again when everything is embedded"
_EXCLUDED = ("bad_rule", "link", "nested_vault")
_READABLE = "make the files readable with `chmod u+rX`"
_RENAME = "rename files whose names are too long or not UTF-8"
_REMEDIES = {
    "not_a_file": "replace the link with a copy of the note; links are not followed",
    "unreadable_folder": _READABLE,
    "unreadable_note": _READABLE,
}
"""Remedies for problems with reading files; all other problems are about file names."""
_REFUSED = "`vaultseek status` lists them; `vaultseek start --restart` tries again, at most five times"
_REBUILD = "run `vaultseek start --restart`, which rebuilds the index from the notes"


@dataclass(frozen=True, slots=True)
class KnownVault:
    """A vault: its name, its folder, the globs it excludes and the kinds of files it reads."""

    name: str
    root: Path
    exclude: tuple[str, ...] = ()
    kinds: tuple[str, ...] = DEFAULT_SWITCHES


def known_vaults(settings: Settings) -> list[KnownVault]:
    """Return the configured vaults, the registered vaults, and other vaults that have an index."""
    vaults: dict[Path, KnownVault] = {}
    for vault in (*settings.vaults, *read_registry().vaults):
        exclude = (*settings.index.exclude, *vault.exclude)
        known = KnownVault(vault.name, vault.path, exclude, settings.index.kinds)
        vaults.setdefault(vault.path, known)
    for folder in sorted((paths.data_directory() / "vaults").glob("*/vault.json")):
        root = _root_of(folder)
        # A missing folder is not a problem if the vault is not configured.
        if root is not None and paths.is_folder(root):
            known = KnownVault(vault_name(root), root, settings.index.exclude, settings.index.kinds)
            vaults.setdefault(root, known)
    return list(vaults.values())


def check_notes(vault: KnownVault) -> Iterator[Finding]:
    """Check that the vault exists and that its notes can be read."""
    check = f"vault {vault.name}"
    if not paths.is_folder(vault.root):
        advice = (
            "mount, open or restore the folder, or remove the vault from config.toml or with "
            "`vaultseek vault remove`"
        )
        yield Finding(
            check,
            BROKEN,
            f"{vault.root}: {paths.no_folder_reason(vault.root)}",
            advice,
            "the vault's folder is missing",
        )
        return
    notes, unreadable, excluded = 0, Counter[str](), Counter[str]()
    for file in scan(vault.root, Ignore(vault.root, vault.exclude, vault.kinds)):
        if file.problem is not None:
            (excluded if file.problem.code in _EXCLUDED else unreadable)[file.problem.code] += 1
        elif file.stat is not None:
            notes += 1
            if not os.access(vault.root / file.path, os.R_OK):
                unreadable["unreadable_note"] += 1
    if unreadable:
        message = _format_counts(unreadable)
        remedies = dict.fromkeys(_REMEDIES.get(code, _RENAME) for code in sorted(unreadable))
        advice = "; ".join(("`vaultseek status` lists them", *remedies))
        yield Finding(check, WARNING, f"{count(notes, 'note')}, but {message}", advice)
    else:
        rest = f"; left out: {_format_counts(excluded)}; `vaultseek status` lists them" if excluded else ""
        yield Finding(check, OK, f"{count(notes, 'note')} can be read{rest}")


def _format_counts(codes: Counter[str]) -> str:
    return ", ".join(f"{number} {code.replace('_', ' ')}" for code, number in sorted(codes.items()))


def count_folders(vaults: Sequence[KnownVault]) -> int:
    """Return the number of folders to watch; excluded folders are watched as well."""
    return sum(1 for vault in vaults for _ in os.walk(vault.root))


def check_index(vault: KnownVault) -> Iterator[Finding]:
    """Check that a vault's ledger and keyword index are intact."""
    check = f"index of {vault.name}"
    directory = paths.vault_data_directory(vault.root)
    if not (directory / "ledger.sqlite").exists():
        yield Finding(check, OK, "not created yet; it is created when the vault is first opened")
        return
    try:
        ledger = examine_ledger(directory / "ledger.sqlite")
        searchable = keyword.examine(directory / "keyword")
    except IndexDamaged as error:
        yield Finding(check, BROKEN, str(error), _REBUILD)
        return
    parts = [count(ledger.notes, "note"), count(ledger.chunks, "passage")]
    parts.append(f"{count(searchable, 'note')} searchable by word")
    if ledger.pending:
        parts.append(f"{count(ledger.pending, 'passage')} to embed")
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    yield Finding(check, OK, f"{', '.join(parts)}; {size // limits.MIB:,} MiB")


def check_vectors(vault: KnownVault) -> Iterator[Finding]:
    """Check that the vector store exists, is intact and contains the vectors listed in the ledger."""
    check = f"vectors of {vault.name}"
    directory = paths.vault_data_directory(vault.root)
    ledger = directory / "ledger.sqlite"
    try:
        examined = name, passages, refused = examine_stored(ledger)
    except sqlite3.DatabaseError:
        return  # there is no ledger, or its damage was already reported
    if not name:
        yield Finding(check, OK, "not created yet; they are created when the model is loaded")
        return
    store = directory / "semantic" / store_folder(name.rpartition(":")[0])
    advice = (
        f"run `vaultseek stop`, delete {store} and run `vaultseek start`; the daemon then rebuilds the store "
        "without the model"
    )
    public = "the vector store does not match the index"
    if not store.is_dir():
        message = f"no vector store at {store}"
        yield Finding(check, WARNING, message, "the daemon rebuilds the store when it next starts", public)
        return
    try:
        (stored, version), (of_notes, _) = (examine_vectors(store, name) for name in (CHUNKS, NOTES))
    except IndexDamaged as error:
        yield Finding(check, BROKEN, str(error), advice)
        return
    if version != name:
        message = "the vector store belongs to a different index"
        yield Finding(check, WARNING, message, "the daemon rebuilds the store when it next starts")
    elif stored < passages and examine_stored(ledger) == examined:
        message = f"the vector store holds {count(stored, 'passage')}, {passages:,} expected"
        yield Finding(check, BROKEN, message, advice)
    else:
        message = f"{count(stored, 'passage')} and {count(of_notes, 'note')} embedded"
        if refused:
            lacking = f"{message}, but {count(refused, 'note')} with text that could not be embedded"
            yield Finding(check, WARNING, lacking, _REFUSED)
        else:
            yield Finding(check, OK, message)


def audit_vault(vault: KnownVault) -> Iterator[Finding]:
    """Compare the embedded texts in the index with the current notes, for at most ``AUDIT_SECONDS``."""
    check = f"audit of {vault.name}"
    directory = paths.vault_data_directory(vault.root)
    try:
        examine_ledger(directory / "ledger.sqlite")
    except (IndexDamaged, OSError):
        return  # the ledger is missing, or its damage was already reported
    ledger = Ledger(directory / "ledger.sqlite")
    try:
        model = find_model(ledger.space.store_model() or BUNDLED)
        spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window, model.name)
        if not ledger.space.store().startswith(f"{spec.name}:"):
            yield Finding(check, WARNING, "the vectors are from a different version or model", _WAIT)
            return
        found = audit(ledger, Unembedded(ledger, spec), seconds=AUDIT_SECONDS)
    finally:
        ledger.close()
    if found.outdated:
        message = f"{count(len(found.outdated), 'note')} of {found.notes:,} with outdated vectors"
        yield Finding(check, BROKEN, f"{message}: {_first(found.outdated)}", _OUTDATED, message)
    if found.unread:
        message = (
            f"{count(len(found.unread), 'file')} of {found.notes:,} could not be read: a process crashed"
        )
        advice = "`touch` a file to have it read again"
        yield Finding(check, WARNING, f"{message}: {_first(found.unread)}", advice, message)
    if not found.outdated and not found.unread:
        yield Finding(check, OK, f"{count(found.notes, 'note')} with up-to-date vectors")


def _first(names: Sequence[str]) -> str:
    rest = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + rest


def _root_of(file: Path) -> Path | None:
    try:
        return Path(paths.read_json(file)["path"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
