"""Recognize files that are not part of a vault: hidden files, leftovers of editors and sync tools, and
excluded files.
"""

import fnmatch
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

from vaultseek.base.limits import EXCLUDED_FILES_RULES, EXCLUDED_RULE_SECONDS, EXCLUDED_RULES_SECONDS
from vaultseek.base.matching import SHORT_CHARS, BoundedPattern, compiled, processor_seconds
from vaultseek.base.patterns import BadPattern
from vaultseek.base.text import fold_case, printable
from vaultseek.content.files.obsidian import app_settings, has_obsidian
from vaultseek.content.kinds import DEFAULT_SWITCHES, is_read

FOLDERS = re.compile(
    r"""(?xi) node_modules | __pycache__                      # of packages
    | \$recycle\.bin | system\ volume\ information | \$extend | found\.\d{3}
    | lost\+found | lost\.dir | __macosx | network\ trash\ folder
    | \#recycle | \#snapshot | @eadir | @synoresource
    | @recycle | @recently-snapshot | ~snapshot               # of network storage
    | _gsdata_ | _syncapp                                     # of GoodSync, Allway Sync
    | vx_recycle_bin | _v_recycle_bin                         # of VNote
    """
)
"""Names of folders that systems and programs create and that never contain a user's notes."""
_LOGSEQ = re.compile(r"(?:^|/)logseq/(?:bak|version-files)$")
_EXTENSIONS = r"(?:\.\w+){0,2}$"
LEFTOVER = re.compile(
    rf"""(?x) ~$ | ^~\$ | ^\# .* \#$ | ^4913$
    | \.sw[a-z]$ | \.te?mp$ | \.bak$ | \.part$ | \.crdownload$ | \.icloud$ | \.rej$ | \.orig(?:\.\w+)?$
    | \ \(case\ clash\ from\ .+\) {_EXTENSIONS}                    # Nextcloud
    | -safeBackup-\d{{4}} {_EXTENSIONS}                            # OneDrive's client for Linux
    | \.\.path[12]$                                                # rclone bisync
    """,
    re.IGNORECASE,
)
_OF_MERGE = re.compile(rf"(?<=([_.]))(?:BACKUP|BASE|LOCAL|REMOTE)(?=\1\d+{_EXTENSIONS})")
"""Pattern for the part of a file name by which git mergetool distinguishes the versions of a file."""
_VERSIONS = ("BACKUP", "BASE", "LOCAL", "REMOTE")
_COPY = r"""(?:conflict(?:ed|ing)\ copy | in\ konflikt\ stehende\ kopie | konfliktkopie | copie\ en\ conflit
    | copia\ (?:en\ conflicto | conflictiva | in\ conflitto) | cópia\ em\ conflito | conflicterende\ kopie)"""
CONFLICT_COPY = re.compile(
    rf"""(?x)
    (?:                                                # in parentheses at the end
        (?:\ \( | ['’]s\ ) conflict(?:ed|ing)\ copy (?:\ \d+ | \ from\ .+)?
        | [ (] {_COPY} .* \d{{4}}-?\d\d-?\d\d .*       # Dropbox, Nextcloud, Obsidian Sync, Maestral
        | (?:\ \( | ['’]s\ ) (?:case | unicode\ (?:encoding|normalization) | white\ ?space | selective\ sync)
            \ conflict (?:\ [-\d\ ]+)?                 # Dropbox
        | \ \(SFConflict\ .+                           # Seafile
    )\) (?:\ \d+ | \ \(\d+\))? {_EXTENSIONS}
    | _conflict-(?:.+-)?\d{{8}}-\d{{6}}(?:-\d+)? {_EXTENSIONS}  # ownCloud, older Nextcloud
    | \.sync-conflict- | \.conflicted\.                # Syncthing, pCloud
    | \.conflict\d+ {_EXTENSIONS}                      # rclone bisync
    | (?-i:_\w{{3}}-\d\d-\d{{4}}-\d{{4}}_\w*Conflict(?:_\d+)?) {_EXTENSIONS}  # Synology Drive
    """,
    re.IGNORECASE,
)
"""Pattern for the names of copies that sync tools and git create when two versions of a note conflict.

A name that a user may give to a note, such as ``Note 2.md`` or ``Note (1).md``, does not match. Every
matching name contains the text in ``_IN_ALL``, which is faster to search for."""
_IN_ALL = "onfli"


class Ignore:
    """Rules that decide which files of a vault are read. Paths are relative to the vault, with ``/`` as
    separator.

    The rules apply only to names. ``switches`` are the kinds of files that are read in addition to notes.
    """

    def __init__(
        self, root: Path, exclude: Sequence[str] = (), switches: Sequence[str] = DEFAULT_SWITCHES
    ) -> None:
        self._root = root
        self._switches = frozenset(switches)
        prefixes, expressions = _obsidian_rules(root)
        self._names = [*map(_glob, exclude), *map(_prefix, prefixes)]
        self._expressions = _Expressions(expressions)

    @property
    def problems(self) -> list[str]:
        """Rules from the vault's own settings that are not applied, each with the reason."""
        return [
            f"the rule /{printable(pattern)}/ in the vault's excluded files is not applied: {why}"
            for pattern, why in self._expressions.problems.items()
        ]

    def is_read(self, path: str) -> bool:
        """True if a file is read, False if it is indexed only by name. Does not check whether it is
        skipped."""
        return is_read(path, self._switches)

    def skips_folder(self, path: str) -> bool:
        """True if a folder and everything below it is skipped, because it is excluded or is a separate
        vault.
        """
        return self.is_excluded(path) or self.is_nested_vault(path)

    def is_excluded(self, path: str) -> bool:
        """True if a folder is skipped because of its name, or because the user excluded it."""
        name = path.rpartition("/")[2]
        if name.startswith(".") or FOLDERS.fullmatch(name) or _LOGSEQ.search(path):
            return True
        return self._is_named(path + "/")

    def is_nested_vault(self, path: str) -> bool:
        """True if a folder is a separate vault inside this one."""
        return has_obsidian(self._root / path)

    def skips_file(self, path: str) -> bool:
        """True if a file is skipped; its folder is not checked."""
        name = unicodedata.normalize("NFC", path.rpartition("/")[2])
        if name.startswith(".") or LEFTOVER.search(name):
            return True
        if _IN_ALL in name.lower() and CONFLICT_COPY.search(name):
            return True
        return self._is_of_merge(path, name) or self._is_named(path) or self._expressions.match(path)

    def _is_of_merge(self, path: str, name: str) -> bool:
        """True if git mergetool wrote this version of a file. A file such as ``Server_BACKUP_2026.md``
        without other versions is a note.
        """
        version = _OF_MERGE.search(name)
        if version is None:
            return False
        folder = (self._root / path).parent
        others = (_OF_MERGE.sub(other, name) for other in _VERSIONS if other != version[0])
        return any((folder / other).exists() for other in others)

    def _is_named(self, path: str) -> bool:
        folded = fold_case(path)
        return any(rule(folded) for rule in self._names)

    def skips(self, path: str) -> bool:
        """True if the file or folder at ``path``, or a folder above it, is skipped."""
        slash = path.find("/")
        while slash != -1:
            if self.skips_folder(path[:slash]):
                return True
            slash = path.find("/", slash + 1)
        return self.skips_file(path)


Rule = Callable[[str], bool]
"""Function that receives a folded path, which ends in ``/`` for a folder, and returns True to skip it."""


def _glob(pattern: str) -> Rule:
    """Return the rule for a glob, interpreted as in a .gitignore file, except that ``*`` also matches
    ``/``.
    """
    # fnmatch has no escapes; a set of one character has the same effect.
    glob = re.sub(r"\\([*?\[])", r"[\1]", fold_case(pattern.strip()))
    glob = re.sub(r"\\(.)", r"\1", glob)
    is_anchored = "/" in glob.rstrip("/")
    names = glob.removeprefix("./").strip("/")
    if not names:
        return lambda path: False
    # Drop the end-of-text assertion that fnmatch appends to each part.
    parts = [fnmatch.translate(part)[:-2] for part in _ANY_FOLDERS.split(names)]
    begin, end = ("" if is_anchored else _BELOW), ("/.*" if glob.endswith("/") else "(?:/.*)?")
    expression = re.compile(begin + _BELOW.join(parts) + end, re.DOTALL)
    return lambda path: expression.fullmatch(path) is not None


_ANY_FOLDERS = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+")
_BELOW = "(?:.*/)?"


def _prefix(prefix: str) -> Rule:
    return lambda path: path.startswith(prefix)


class _Expressions:
    """The regular expressions among a vault's rules. They are untrusted and share a time budget.

    A rule is compiled when the first path is compared with it, so that opening a vault does not wait for it.
    Rules are dropped once the time is used up.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.problems: dict[str, str] = {}
        """Map from each dropped rule to the reason why it was dropped."""
        self._seconds = EXCLUDED_RULES_SECONDS
        self._patterns: dict[str, BoundedPattern | None] = dict.fromkeys(patterns)

    def match(self, path: str) -> bool:
        """True if the path of a file matches one of the rules.

        Folders are not tested: a rule may exclude everything except some files, which may be in a folder that
        matches.
        """
        composed = unicodedata.normalize("NFC", path)
        return any(self._matches(pattern, composed) for pattern in self._patterns)

    def _matches(self, pattern: str, path: str) -> bool:
        if pattern in self.problems:
            return False
        is_costly = len(pattern) > SHORT_CHARS and self._patterns[pattern] is None
        if self._seconds < 0 and is_costly:
            self.problems[pattern] = "earlier rules took too long"
            return False
        began = processor_seconds()
        try:
            known = self._patterns[pattern] = self._patterns[pattern] or compiled(pattern)
            return known.first(path, EXCLUDED_RULE_SECONDS) is not None
        except BadPattern as error:
            self.problems[pattern] = str(error)
            return False
        except TimeoutError:
            return False
        finally:
            self._spend(pattern, processor_seconds() - began)

    def _spend(self, pattern: str, seconds: float) -> None:
        if seconds > _USUAL_SECONDS:
            self._seconds -= seconds
            if self._seconds < 0:
                self.problems[pattern] = "the rule takes too long"


_USUAL_SECONDS = 50e-6
"""Number of seconds that testing one path may take without counting against the time budget."""


def _obsidian_rules(root: Path) -> tuple[list[str], list[str]]:
    """Return the rules in Obsidian's "Excluded files" setting: path prefixes and regular expressions."""
    filters = app_settings(root).get("userIgnoreFilters")
    texts = filters if isinstance(filters, list) else []
    prefixes: list[str] = []
    expressions: list[str] = []
    for text in [text for text in texts if isinstance(text, str)][:EXCLUDED_FILES_RULES]:
        if len(text) > 2 and text.startswith("/") and text.endswith("/"):
            expressions.append(text[1:-1])
        elif prefix := fold_case(text.strip().removeprefix("/")):
            prefixes.append(prefix)
    return prefixes, expressions
