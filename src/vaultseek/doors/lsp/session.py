"""An editor's session: its documents, the vaults that contain them, and the client's capabilities."""

from __future__ import annotations

import os
import shlex
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import Workspace

from vaultseek.base.model import JSON
from vaultseek.content.kinds import is_markdown
from vaultseek.doors.lsp.documents import Text, text_on_disk
from vaultseek.errors import VaultseekError

TEXTS_KEPT = 64
"""Maximum number of open documents whose parsed text is kept."""

DRAFT = "Untitled.md"
"""Path used for a document without a file when links are written in it."""
Ask = Callable[[str, JSON], Awaitable[Any]]


class Spot(NamedTuple):
    """A file in a vault: the vault's folder, the file's path in the vault, and the folder as spelled by the
    client."""

    root: str
    path: str
    shown: str

    def uri(self, path: str) -> str:
        """Return the URI of the file at ``path`` in the same vault."""
        return from_fs_path(f"{self.shown}/{path}") or ""

    def beside(self, path: str) -> Spot:
        """Return the `Spot` of the file at ``path`` in the same vault."""
        return self._replace(path=path)


class Document(NamedTuple):
    """A document in a vault: its `Spot`, and its text in the editor."""

    spot: Spot
    text: Text


class Options(NamedTuple):
    """The user's options, taken from the client's initialization options."""

    code_lens: bool = False
    inlay_hints: bool = False
    diagnostics: bool = True
    vault: str | None = None


class Session:
    """The open documents and the vaults that contain them."""

    def __init__(self, ask: Ask, warn: Callable[[str], None], options: Options) -> None:
        """Create a session that shows messages to the user with ``warn``."""
        self._ask = ask
        self.warn = warn
        self.options = options
        self.capabilities = types.ClientCapabilities()
        self.client = ""
        self._workspace: Workspace | None = None
        self._texts: OrderedDict[str, Text] = OrderedDict()
        self._roots: dict[str, str | None] = {}

    def begin(self, workspace: Workspace, params: types.InitializeParams) -> None:
        """Store the client's capabilities, name and options."""
        self._workspace = workspace
        self.capabilities = params.capabilities
        self.client = params.client_info.name if params.client_info else ""
        options = params.initialization_options
        if isinstance(options, dict):
            self.options = _options(options.get("vaultseek", options), self.options)

    @property
    def workspace(self) -> Workspace:
        """The open documents and the workspace folders."""
        if self._workspace is None:
            raise RuntimeError("initialize must come first")
        return self._workspace

    def can(self, capability: str) -> Any:
        """Return a capability of the client by its dotted name, or None if the client does not declare it."""
        try:
            return reduce(getattr, capability.split("."), self.capabilities)
        except AttributeError:
            return None

    async def ask(self, method: str, root: str | None, **params: Any) -> JSON:
        """Return the daemon's answer about the vault at ``root`` or, if ``root`` is None, about no particular
        vault. Raises VaultseekError."""
        vault = {} if root is None else {"vault": root}
        answer: JSON = await self._ask(method, {**vault, **params})
        return answer

    # -- places ------------------------------------------------------------------------------------------

    async def spot(self, uri: str) -> Spot | None:
        """Return the `Spot` of a document, or None if the document is outside all vaults."""
        file = path_of(uri) if uri.startswith("file:") else None
        if file is None:
            return None
        folder, _, name = file.rpartition("/")
        real = _real(folder)
        root = await self._root(real)
        if root is None:
            return None
        path = f"{real}/{name}".removeprefix(f"{root}/")
        shown = folder.removesuffix(f"/{path}".rpartition("/")[0])
        return Spot(root, path, shown if _real(shown) == root else root)

    async def spot_of_vault(self, root: str) -> Spot:
        """Return a `Spot` for a vault's folder as the client spells it, possibly through a symbolic link."""
        for folder in self.folders():
            real = _real(folder)
            if f"{root}/".startswith(f"{real}/"):
                return Spot(root, "", folder + root[len(real) :])
            inner = real[len(root) :] if f"{real}/".startswith(f"{root}/") else ""
            if inner and folder.endswith(inner) and _real(folder.removesuffix(inner)) == root:
                return Spot(root, "", folder.removesuffix(inner))
        spots = [await self.spot(uri) for uri in list(self.workspace.text_documents)]
        shown = (spot.shown for spot in spots if spot and spot.root == root)
        return Spot(root, "", next(shown, root))

    async def spot_of_draft(self, uri: str) -> Spot | None:
        """Return a `Spot` for a document without a file, as if it were a note in the only open vault; None
        unless exactly one vault is open."""
        if uri.startswith("file:"):
            return None
        roots = await self.roots() if any(self.folders()) else []
        return (await self.spot_of_vault(roots[0])).beside(DRAFT) if len(roots) == 1 else None

    async def roots(self) -> list[str]:
        """Return the vaults of the workspace folders or, if no workspace folder is in a vault, of the open
        documents; an empty list stands for all vaults."""
        roots = [await self._root(_real(folder)) for folder in self.folders()]
        if not any(roots):
            spots = [await self.spot(uri) for uri in list(self.workspace.text_documents)]
            roots = [spot.root for spot in spots if spot]
        return [root for root in dict.fromkeys(roots) if root]

    def folders(self) -> list[str]:
        """Return the workspace folders."""
        folders = [folder for uri in self.workspace.folders if (folder := path_of(uri))]
        root = path_of(self.workspace.root_uri or "")
        return folders or ([root] if root else [])

    def has_vault(self, root: str) -> bool:
        """Return True if the vault at ``root`` contains a workspace folder or an opened document."""
        return root in self._roots.values()

    def forget_roots(self) -> None:
        """Forget which vault contains each folder, because vaults may have been added or removed."""
        self._roots.clear()

    async def _root(self, folder: str) -> str | None:
        if folder not in self._roots:
            known = await self._known_vaults()
            try:
                answer = await self.ask("links/resolve", self.options.vault, cwd=folder, source="x", links=[])
            except VaultseekError:
                return None
            root = str(answer["vault_path"])
            self._roots[folder] = root if f"{folder}/".startswith(f"{root}/") else None
            if known is not None and root not in known:
                ended_by = f"vaultseek vault remove {shlex.quote(root)}"
                self.warn(f"the notes in {root} are indexed from now on; to undo this, run `{ended_by}`")
        return self._roots[folder]

    async def _known_vaults(self) -> set[str] | None:
        try:
            return {vault["path"] for vault in (await self.ask("vault/list", None))["vaults"]}
        except VaultseekError:  # the list is needed only for deciding whether to announce a new vault
            return None

    # -- texts -------------------------------------------------------------------------------------------

    def is_open(self, uri: str) -> bool:
        """Return True if the document is open in the client."""
        return self._open(uri) is not None

    async def document(self, uri: str) -> Document | None:
        """Return the document at a URI, or None if the document is unreadable or outside all vaults."""
        spot = await self.spot(uri)
        text = self.text(uri, spot)
        return None if spot is None or text is None else Document(spot, text)

    def text(self, uri: str, spot: Spot | None) -> Text | None:
        """Return the text of a document: the client's text if the document is open, otherwise the text on
        disk."""
        document = self._open(uri)
        codec = self.workspace.position_codec
        if document is None:
            return text_on_disk(spot.root, spot.path, codec) if spot else None
        text = self._texts.get(uri)
        path = spot.path if spot else text.path if text else DRAFT
        if (
            text is None
            or (text.path, text.version) != (path, document.version)
            or text.source != document.source
        ):
            text = self._texts[uri] = Text(document.source, path, codec, document.version)
        self._texts.move_to_end(uri)
        while len(self._texts) > TEXTS_KEPT:
            self._texts.popitem(last=False)
        return text

    async def outlined(self, uri: str) -> Text | None:
        """Return the text of a document for its outline, without looking for the document's vault if the
        document is open."""
        return self.text(uri, None if self.is_open(uri) else await self.spot(uri))

    async def unsaved(self, root: str) -> dict[str, Text]:
        """Return a dict from path to text, for a vault's open notes that are not on disk yet."""
        texts = await self.open_texts(root)
        return {path: text for path, (_, text) in texts.items() if not _is_on_disk(root, path)}

    async def changed_texts(self, root: str) -> dict[str, Text]:
        """Return a dict from path to text, for a vault's open notes with unsaved changes."""
        codec = self.workspace.position_codec
        changed = {}
        for path, (_, text) in (await self.open_texts(root)).items():
            saved = text_on_disk(root, path, codec)
            if saved is None or saved.source != text.source:
                changed[path] = text
        return changed

    async def open_texts(self, root: str) -> dict[str, tuple[str, Text]]:
        """Return a dict from path to a pair of URI and text, for a vault's open notes."""
        texts = {}
        for document in list(self.workspace.text_documents.values()):
            spot = await self.spot(document.uri)
            if spot is None or spot.root != root or not is_markdown(spot.path):
                continue
            if text := self.text(document.uri, spot):
                texts[spot.path] = (document.uri, text)
        return texts

    def text_of(self, spot: Spot, path: str) -> Text | None:
        """Return the text of the file at ``path`` in the same vault, or None if it cannot be read."""
        return self.text(spot.uri(path), spot.beside(path))

    def _open(self, uri: str) -> Any:
        # Client and server may percent-encode different characters of a URI.
        return self.workspace.text_documents.get(unquote(uri))


def path_of(uri: str) -> str | None:
    """Return the path of a file URI, or None; a final slash is removed."""
    path = to_fs_path(uri)
    return path and (path.rstrip("/") or "/")


def _is_on_disk(root: str, path: str) -> bool:
    return Path(root, path).exists()


def _real(folder: str) -> str:
    return os.path.realpath(folder)


def _options(given: Any, known: Options) -> Options:
    if not isinstance(given, dict):
        return known
    return Options(
        code_lens=bool(given.get("codeLens", known.code_lens)),
        inlay_hints=bool(given.get("inlayHints", known.inlay_hints)),
        diagnostics=bool(given.get("diagnostics", known.diagnostics)),
        vault=given.get("vault") if isinstance(given.get("vault"), str) else known.vault,
    )
