"""Components for LlamaIndex pipelines: the chunker as a node parser and the daemon as a retriever.

Importing this module imports LlamaIndex, which takes about a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr

from vaultseek.base.extras import install_command, missing_extra
from vaultseek.base.limits import MODEL_WINDOW
from vaultseek.base.model import JSON, Chunk, Note, TokenCount
from vaultseek.client import AsyncClient, Client
from vaultseek.content.markdown.chunk import chunk
from vaultseek.content.markdown.parse import parse
from vaultseek.errors import NotFound, Unavailable

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.node_parser import NodeParser
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        TextNode,
    )
except ModuleNotFoundError:
    text = f"{missing_extra('llama', 'vaultseek.llama')} with `{install_command('llama')}`"
    raise ModuleNotFoundError(text, name="llama_index") from None

_FOR_PROGRAMS = ["start_line", "end_line", "modified", "partial", "untrusted"]
"""Metadata keys that are useless to a model."""
_PATH_KEYS = ("path", "file_path", "file_name")


class VaultNodeParser(NodeParser):  # type: ignore[misc]  # LlamaIndex is not checked
    """A node parser that splits Markdown along its headings, as the daemon does.

    ``count`` returns the number of tokens in a string, and ``window`` is the model's maximum number of
    tokens; by default, both match the bundled model. A node's id does not change when other parts of the note
    are edited. It equals the daemon's id of the passage if the document's metadata contains ``path``, the
    path from the vault's root. ``file_path`` and ``file_name`` are used only for the note's name. A node's
    metadata: ``title``, ``heading``, ``start_line`` and ``end_line`` (1-based, inclusive), ``tags``.

    Raises ConfigError if ``count`` is omitted and the bundled model is missing.
    """

    window: int = Field(
        default=MODEL_WINDOW, gt=0, description="Maximum number of tokens that the model reads."
    )
    _count: TokenCount = PrivateAttr()

    def __init__(self, *, count: TokenCount | None = None, **more: Any) -> None:
        super().__init__(**more)
        self._count = count or _bundled_count()

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which LlamaIndex serializes this class."""
        return "VaultNodeParser"

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any
    ) -> list[BaseNode]:
        return [passage for node in nodes for passage in self._passages(node)]

    def _passages(self, node: BaseNode) -> list[BaseNode]:
        note = parse(node.get_content(metadata_mode=MetadataMode.NONE), _path_of(node))
        return [_node(passage, note, node) for passage in chunk(note, self._count, self.window)]


class VaultRetriever(BaseRetriever):  # type: ignore[misc]  # LlamaIndex is not checked
    """A retriever that queries the running daemon; each node is the best passage of a note, read from disk.

    ``vault`` is a name or a folder, by default the vault that contains the current folder. ``limit`` is the
    maximum number of nodes. ``options`` are passed to ``Client.search``, such as ``mode`` and ``filters``.
    Scores are in [0, 1]; the best node has 1. A node's metadata: ``path``, ``title``, ``heading``,
    ``start_line`` and ``end_line`` (1-based, inclusive), ``tags``, ``modified`` (ISO 8601), ``untrusted``
    (always true, because a note may contain instructions for a model), and ``partial``, the kinds of search
    that were left out.

    Retrieving nodes raises NotRunning if no daemon is running (``vaultseek start`` starts one), and the
    errors that the daemon returns. Each retrieval opens its own connection, so one retriever may serve many
    threads and event loops.
    """

    def __init__(
        self,
        vault: str | Path | None = None,
        *,
        limit: int = 5,
        socket_path: Path | None = None,
        callback_manager: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        name = str(vault.absolute()) if isinstance(vault, Path) else vault
        self._place = {"cwd": str(Path.cwd()), **({"vault": name} if name else {})}
        self._params = {"limit": limit, **options, **self._place}
        self._socket_path = socket_path

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with Client(self._socket_path, name="vaultseek.llama") as client:
            answer = client.call("search", {"query": query_bundle.query_str, **self._params})
            texts: list[str] = []
            for result in answer["results"]:
                try:
                    texts.append(client.call("note/get", self._lines(result))["text"])
                except (NotFound, Unavailable):
                    texts.append(result["preview"])
        return _scored(answer, texts)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        async with AsyncClient(self._socket_path, name="vaultseek.llama") as client:
            answer = await client.call("search", {"query": query_bundle.query_str, **self._params})
            texts = await asyncio.gather(*(self._text(client, result) for result in answer["results"]))
        return _scored(answer, texts)

    async def _text(self, client: AsyncClient, result: JSON) -> str:
        try:
            answer = await client.call("note/get", self._lines(result))
        except (NotFound, Unavailable):
            # The note has just been deleted, so only its preview is available.
            return str(result["preview"])
        return str(answer["text"])

    def _lines(self, result: JSON) -> JSON:
        lines = {"start_line": result["start_line"], "end_line": result["end_line"]}
        return {"note": result["path"], **lines, **self._place}


def _bundled_count() -> TokenCount:
    from vaultseek.semantic.models.directories import bundled_directory
    from vaultseek.semantic.models.tokens import TokenCounter

    return TokenCounter.from_tokenizer_file(bundled_directory() / "tokenizer.json")


def _path_of(node: BaseNode) -> str:
    return str(next((node.metadata[key] for key in _PATH_KEYS if node.metadata.get(key)), node.node_id))


def _node(passage: Chunk, note: Note, source: BaseNode) -> BaseNode:
    return TextNode(
        id_=passage.id,
        text=passage.text,
        metadata={
            "title": _title(note, source),
            "heading": " > ".join(passage.heading_path),
            "start_line": passage.start_line,
            "end_line": passage.end_line,
            "tags": ", ".join(note.tags),
        },
        excluded_llm_metadata_keys=[*source.excluded_llm_metadata_keys, *_FOR_PROGRAMS],
        excluded_embed_metadata_keys=[*source.excluded_embed_metadata_keys, *_FOR_PROGRAMS],
        relationships={NodeRelationship.SOURCE: source.as_related_node_info()},
    )


def _title(note: Note, source: BaseNode) -> str:
    """Return the note's title or, for a document without a file (whose name is only an id), its first
    heading."""
    if note.title_source == "name" and note.headings and _path_of(source) == source.node_id:
        return note.headings[0].shown or note.title
    return note.title


def _scored(answer: JSON, texts: Sequence[str]) -> list[NodeWithScore]:
    partial = ", ".join(lane["lane"] for lane in answer["partial"])
    return [
        NodeWithScore(node=_result_node(result, text, partial), score=float(result["score"]))
        for result, text in zip(answer["results"], texts, strict=True)
    ]


def _result_node(result: JSON, text: str, partial: str) -> TextNode:
    return TextNode(
        id_=result["chunk_id"] or result["path"],
        text=text,
        metadata={
            "path": result["path"],
            "title": result["title"],
            "heading": " > ".join(result["heading_path"]),
            "start_line": result["start_line"],
            "end_line": result["end_line"],
            "tags": ", ".join(result["tags"]),
            "modified": result["modified"],
            "partial": partial,
            "untrusted": True,
        },
        excluded_llm_metadata_keys=_FOR_PROGRAMS,
        excluded_embed_metadata_keys=_FOR_PROGRAMS,
    )
