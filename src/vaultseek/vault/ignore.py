"""What is left out of a vault: hidden files, sync and editor leftovers, and what the user excludes."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

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
    """Decides by name alone; paths are relative to the vault, with ``/``."""

    def __init__(self, root: Path, exclude: Sequence[str] = ()) -> None:
        self._root = root
        self._rules = [_glob(pattern) for pattern in exclude] + _obsidian_rules(root)

    def folder(self, path: str) -> bool:
        """Whether a folder and all below it is left out; a vault inside this vault is a vault of its own."""
        return self.unwanted(path) or self.is_vault(path)

    def unwanted(self, path: str) -> bool:
        """Whether a folder is left out for its name or because the user excludes it."""
        name = path.rpartition("/")[2]
        if name.startswith(".") or name in FOLDERS:
            return True
        return any(rule(path + "/") for rule in self._rules)

    def is_vault(self, path: str) -> bool:
        """Whether a folder is a vault of its own."""
        try:
            return (self._root / path / OBSIDIAN_FOLDER).is_dir()
        except OSError:
            return False  # whoever lists the folder will say what is wrong with it

    def file(self, path: str) -> bool:
        """Whether a file in a folder that is not left out is left out itself."""
        name = path.rpartition("/")[2]
        if name.startswith(".") or LEFTOVER.search(name):
            return True
        return any(rule(path) for rule in self._rules)

    def anywhere(self, path: str) -> bool:
        """Whether ``path`` is left out by itself or by any folder above it."""
        at = path.find("/")
        while at != -1:
            if self.folder(path[:at]):
                return True
            at = path.find("/", at + 1)
        return self.file(path)


Rule = Callable[[str], bool]


def _glob(pattern: str) -> Rule:
    """A glob of the configuration: a folder pattern ends with ``/`` and covers all below it."""
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
    """The app's own "Excluded files", read as data: path prefixes, or regular expressions between slashes."""
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
    # The pattern comes from inside the vault: the engine must be able to give up on it.
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
