"""The vaults and their indexes: whether notes can be read, and whether what is kept of them is sound."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vaultseek import limits, paths
from vaultseek.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek.errors import Busy, IndexDamaged
from vaultseek.index.keyword import index as keyword
from vaultseek.index.ledger import examine as examine_ledger
from vaultseek.index.ledger import examine_stored
from vaultseek.index.vectors.chroma import examine as examine_store
from vaultseek.indexing.embed import store_folder
from vaultseek.settings.model import Settings
from vaultseek.settings.registry import read_registry
from vaultseek.vault.ignore import Ignore
from vaultseek.vault.scan import scan
from vaultseek.worker import CHUNKS, NOTES

_LEFT_OUT = ("link", "nested_vault")
_AGAIN = "stop the daemon and start it again: it is made anew from the notes"


@dataclass(frozen=True, slots=True)
class KnownVault:
    """A vault as the user calls it, and what is left out of it."""

    name: str
    root: Path
    exclude: tuple[str, ...] = ()


def known_vaults(settings: Settings) -> list[KnownVault]:
    """Those of the configuration, those that were added, and those that an index is kept of."""
    found: dict[Path, KnownVault] = {}
    for vault in (*settings.vaults, *read_registry().vaults):
        known = KnownVault(vault.name, vault.path, (*settings.index.exclude, *vault.exclude))
        found.setdefault(vault.path, known)
    for folder in sorted((paths.data_directory() / "vaults").glob("*/vault.json")):
        root = _root_of(folder)
        # Of a vault that was only asked about once and is gone, nothing is expected any more.
        if root is not None and root.is_dir():
            found.setdefault(root, KnownVault(root.name, root, settings.index.exclude))
    return list(found.values())


def readable(vault: KnownVault) -> Iterator[Finding]:
    """Whether the vault is there and its notes can be read."""
    check = f"vault {vault.name}"
    if not vault.root.is_dir():
        advice = "mount or restore it; or take it out of config.toml, or run `vaultseek vault remove`"
        yield Finding(check, BROKEN, f"no folder at {vault.root}", advice, "its folder is not there")
        return
    notes, closed, left_out = 0, Counter[str](), Counter[str]()
    for file in scan(vault.root, Ignore(vault.root, vault.exclude)):
        if file.problem is not None:
            (left_out if file.problem.code in _LEFT_OUT else closed)[file.problem.code] += 1
        elif file.stat is not None:
            notes += 1
            if not os.access(vault.root / file.path, os.R_OK):
                closed["unreadable_note"] += 1
    if closed:
        words = _counted(closed)
        advice = "`vaultseek status` names them; `chmod u+rX` lets them be read"
        yield Finding(check, WARNING, f"{notes:,} notes, but {words}", advice)
    else:
        rest = f"; left out: {_counted(left_out)}, `vaultseek status` names them" if left_out else ""
        yield Finding(check, OK, f"{notes:,} notes can be read{rest}")


def _counted(codes: Counter[str]) -> str:
    return ", ".join(f"{number} {code.replace('_', ' ')}" for code, number in sorted(codes.items()))


def folders(vaults: Sequence[KnownVault]) -> int:
    """How many folders have to be watched: all of them, those that are left out as well."""
    return sum(1 for vault in vaults for _ in os.walk(vault.root))


def index(vault: KnownVault) -> Iterator[Finding]:
    """Whether what is kept of the vault can be read."""
    check = f"index of {vault.name}"
    directory = paths.vault_data_directory(vault.root)
    if not (directory / "ledger.sqlite").exists():
        yield Finding(check, OK, "there is none yet; it is made when the vault is first opened")
        return
    try:
        ledger = examine_ledger(directory / "ledger.sqlite")
        searchable = keyword.examine(directory / "keyword")
    except IndexDamaged as error:
        yield Finding(check, BROKEN, str(error), _AGAIN)
        return
    parts = [f"{ledger.notes:,} notes", f"{ledger.chunks:,} passages", f"{searchable:,} notes by word"]
    if ledger.pending:
        parts.append(f"{ledger.pending:,} texts to embed")
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    yield Finding(check, OK, f"{', '.join(parts)}; {size // limits.MIB:,} MiB")


def vectors(vault: KnownVault) -> Iterator[Finding]:
    """Whether the vector store is there, can be read and holds what the ledger says. Loads nothing heavy."""
    check = f"vectors of {vault.name}"
    directory = paths.vault_data_directory(vault.root)
    ledger = directory / "ledger.sqlite"
    try:
        name, passages = examine_stored(ledger)
    except sqlite3.DatabaseError:
        return  # there is no ledger, or one that was found damaged already
    if not name:
        yield Finding(check, OK, "there are none yet; they are made when the model is loaded")
        return
    store = directory / "semantic" / store_folder(name.rpartition(":")[0])
    advice = f"`vaultseek stop`, delete {store}, `vaultseek start`: it is filled again without the model"
    public = "the vector store is not as it should be"
    if not store.is_dir():
        words = f"no vector store at {store}"
        yield Finding(check, WARNING, words, "the daemon fills it again at its next start", public)
        return
    try:
        held = examine_store(store)
    except Busy as error:
        yield Finding(check, WARNING, str(error), "`vaultseek doctor` once more", public)
        return
    except IndexDamaged as error:
        yield Finding(check, BROKEN, str(error), advice)
        return
    stored, stamp = held.get(CHUNKS, (0, None))
    of_notes, _ = held.get(NOTES, (0, None))
    if stamp != name:
        words = "the vector store is another one than the ledger speaks of"
        yield Finding(check, WARNING, words, "the daemon fills it again at its next start")
    elif stored < passages and examine_stored(ledger) == (name, passages):
        words = f"the vector store holds {stored:,} passages, {passages:,} were put into it"
        yield Finding(check, BROKEN, words, advice)
    else:
        yield Finding(check, OK, f"{stored:,} passages and {of_notes:,} notes by meaning")


def _root_of(memo: Path) -> Path | None:
    try:
        with memo.open("rb") as stream:
            return Path(json.loads(stream.read(limits.CONFIG_BYTES))["path"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
