"""The files that are not part of a vault: hidden ones, leftovers of editors and sync, and excluded ones."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from vaultseek.kinds import DEFAULT_SWITCHES, is_read
from vaultseek.limits import EXCLUDED_FILES_BYTES, EXCLUDED_FILES_RULES, EXCLUDED_RULE_SECONDS

FOLDERS = frozenset({"node_modules", "__pycache__", "lost+found"})
LEFTOVER = re.compile(
    r"""(?x) ~$ | ^~\$ | ^\# .* \#$ | ^4913$
    | \.sw[a-z]$ | \.te?mp$ | \.bak$ | \.part$ | \.crdownload$ | \.icloud$
    | \.sync-conflict- | \ \(conflicted\ copy | \.conflicted\.
    """,
    re.IGNORECASE,
)
OBSIDIAN_FOLDER = ".obsidian"


class Ignore:
    """The rules of a vault by which files are read or not. Paths are relative to the vault, with ``/``.

    They apply to names alone. ``switches`` are the kinds of files that are read beside notes.
    """

    def __init__(
        self, root: Path, exclude: Sequence[str] = (), switches: Sequence[str] = DEFAULT_SWITCHES
    ) -> None:
        self._root = root
        self._switches = frozenset(switches)
        self._rules = [_glob(pattern) for pattern in exclude] + _obsidian_rules(root)

    def is_read(self, path: str) -> bool:
        """True if a file is read, given that it is not skipped; any other one is an attachment."""
        return is_read(path, self._switches)

    def skips_folder(self, path: str) -> bool:
        """True if a folder and all below it is skipped; a vault inside this vault is a vault of its own."""
        return self.is_excluded(path) or self.is_nested_vault(path)

    def is_excluded(self, path: str) -> bool:
        """True if a folder is skipped for its name or because the user excluded it."""
        name = path.rpartition("/")[2]
        if name.startswith(".") or name in FOLDERS:
            return True
        return any(rule(path + "/") for rule in self._rules)

    def is_nested_vault(self, path: str) -> bool:
        """True if a folder is a vault of its own."""
        try:
            return (self._root / path / OBSIDIAN_FOLDER).is_dir()
        except OSError:
            return False  # listing the folder will report the problem

    def skips_file(self, path: str) -> bool:
        """True if a file is skipped, given that its folder is not."""
        name = path.rpartition("/")[2]
        if name.startswith(".") or LEFTOVER.search(name):
            return True
        return any(rule(path) for rule in self._rules)

    def skips(self, path: str) -> bool:
        """True if ``path`` is skipped by itself or by a folder above it."""
        slash = path.find("/")
        while slash != -1:
            if self.skips_folder(path[:slash]):
                return True
            slash = path.find("/", slash + 1)
        return self.skips_file(path)


Rule = Callable[[str], bool]


def _glob(pattern: str) -> Rule:
    """Compile a glob of the configuration; a pattern that ends with ``/`` covers all below the folder."""
    folded = pattern.casefold().strip()
    if folded.endswith("/"):
        folded += "*"
    forms = [folded, folded.rstrip("/") + "/*"]
    if "/" not in folded:
        forms += ["*/" + form for form in forms]
    compiled = [re.compile(fnmatch.translate(form)) for form in forms]

    def rule(path: str) -> bool:
        folded_path = path.casefold()
        return any(form.match(folded_path) for form in compiled)

    return rule


def _obsidian_rules(root: Path) -> list[Rule]:
    """Read the app's own "Excluded files": path prefixes, or regular expressions between slashes."""
    try:
        with (root / OBSIDIAN_FOLDER / "app.json").open("rb") as file:
            settings = json.loads(file.read(EXCLUDED_FILES_BYTES))
    except (OSError, ValueError, RecursionError):
        return []
    filters = settings.get("userIgnoreFilters") if isinstance(settings, dict) else None
    if not isinstance(filters, list):
        return []
    texts = [text for text in filters if isinstance(text, str) and text.strip()]
    rules = (_obsidian_rule(text) for text in texts[:EXCLUDED_FILES_RULES])
    return [rule for rule in rules if rule is not None]


def _obsidian_rule(text: str) -> Rule | None:
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return _expression(text[1:-1])
    prefix = text.strip().removeprefix("/").casefold()
    return lambda path: path.casefold().startswith(prefix)


def _expression(pattern: str) -> Rule | None:
    # The pattern is untrusted, so the engine needs a timeout.
    import regex

    try:
        compiled = regex.compile(pattern)
    except regex.error:
        return None

    def rule(path: str) -> bool:
        try:
            return bool(compiled.search(path, timeout=EXCLUDED_RULE_SECONDS))
        except TimeoutError:
            return False

    return rule
