"""Find a base file by name, using the index."""

from collections.abc import Callable
from pathlib import Path

from vaultseek.base.limits import CANDIDATES_NAMED
from vaultseek.base.text import fold, printable, quote
from vaultseek.content.files.scan import file_stat
from vaultseek.core.notes.lookup import vault_path
from vaultseek.errors import NotFound, UsageError
from vaultseek.store.ledger import Ledger

SUFFIX = ".base"
_BASES = "SELECT path FROM {} WHERE path LIKE '%.base'"


def has_base(name: str) -> bool:
    """True if ``name`` has the extension of a base file."""
    return name.lower().endswith(SUFFIX)


def base_path(name: str, ledger: Ledger, root: Path, skips: Callable[[str], bool] = lambda path: True) -> str:
    """Return the path of the base to which ``name`` refers. ``name`` is a path, or the end of a path.

    A file missing from the index is accepted as new if it exists on disk and ``skips`` does not exclude it.
    Raises BadPath, NotFound, or UsageError with the candidates if several bases match.
    """
    path = vault_path(name, root)
    known: set[str] = {
        path for table in ("notes", "attachments") for (path,) in ledger.select(_BASES.format(table))
    }
    if path in known or (not skips(path) and file_stat(root, path) is not None):
        return path
    wanted = f"/{fold(path)}"
    candidates = sorted((each for each in known if f"/{fold(each)}".endswith(wanted)), key=_depth)
    if not candidates:
        raise NotFound(f"no base is called {quote(name)}; {_advice(known)}")
    if len(candidates) > 1 and _depth(candidates[0])[0] == _depth(candidates[1])[0]:
        paths = ", ".join(printable(each) for each in candidates[:CANDIDATES_NAMED])
        raise UsageError(f"{quote(name)} matches {len(candidates)} bases: {paths}; use the full path")
    return candidates[0]


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _advice(known: set[str]) -> str:
    if not known:
        return "the vault has no files of this kind"
    names = ", ".join(quote(each) for each in sorted(known, key=_depth)[:3])
    return f"there are {names}" + (", …" if len(known) > 3 else "")
