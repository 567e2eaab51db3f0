"""Reference implementations: sentence-transformers and Whoosh, as their users would run them."""

import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.directories import bundled_directory


class SentenceTransformers:
    """``SentenceTransformer.encode`` with the bundled model."""

    def __init__(self) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        logging.getLogger("transformers").setLevel(logging.ERROR)
        import sentence_transformers
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call,unused-ignore]
        self._model = sentence_transformers.SentenceTransformer(
            str(bundled_directory()), device="cpu", local_files_only=True
        )
        for _ in range(5):
            self.encode(["a few texts to warm up"])

    def encode(self, texts: Sequence[str], batch_size: int = 32) -> NDArray[np.float32]:
        """Return unit vectors, ``(len(texts), dimension)``."""
        vectors = self._model.encode(
            list(texts), batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    def encode_one(self, text: str) -> Any:
        """Return the vector of one query, computed as an ordinary program would compute it."""
        return self._model.encode(text, normalize_embeddings=True, show_progress_bar=False)


class WhooshIndex:
    """Whoosh's own index of the same notes: title, headings and body, stemmed; any word may match (BM25F)."""

    FIELDS = ("title", "headings", "body")

    def __init__(self, notes: Path, folder: Path) -> None:
        from whoosh import index
        from whoosh.analysis import StemmingAnalyzer
        from whoosh.fields import ID, TEXT, Schema
        from whoosh.qparser import MultifieldParser, OrGroup, WildcardPlugin

        text = TEXT(analyzer=StemmingAnalyzer(cachesize=-1))
        schema = Schema(path=ID(stored=True), title=text, headings=text, body=text)
        if index.exists_in(str(folder)) if folder.is_dir() else False:
            self._index = index.open_dir(str(folder))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            self._index = index.create_in(str(folder), schema)
            self._fill(notes)
        self._parser = MultifieldParser(list(self.FIELDS), schema, group=OrGroup)
        self._parser.remove_plugin_class(WildcardPlugin)
        self._searcher = self._index.searcher()

    def search(self, query: str, limit: int = 10) -> list[str]:
        """Return the paths of the best notes."""
        hits = self._searcher.search(self._parser.parse(query), limit=limit)
        return [hit["path"] for hit in hits]

    def close(self) -> None:
        """Close the index."""
        self._searcher.close()
        self._index.close()

    def _fill(self, notes: Path) -> None:
        writer = self._index.writer(limitmb=512)
        for file in sorted(notes.rglob("*.md")):
            text = file.read_text(encoding="utf-8", errors="replace")
            headings = re.findall(r"^#+\s+(.*)$", text, re.MULTILINE)
            title = headings[0] if headings else file.stem
            name = file.relative_to(notes).as_posix()
            writer.add_document(path=name, title=title, headings="\n".join(headings), body=text)
        writer.commit()
