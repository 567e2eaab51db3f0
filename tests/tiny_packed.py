"""A small untrained packed model, written as its package writes it, and its package."""

import hashlib
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from vaultseek.semantic.models.packed import MULTILINGUAL, PACKED, PackedModel

PIECES = (
    *("<s>", "<pad>", "</s>", "<unk>"),
    *"▁abcdefghijklmnopqrstuvwxyz:?äöüабв中文",
    *("▁query", "▁passage", "▁the", "▁and", "the", "th", "er", "ing", "▁note", "s▁", "中文", "ба"),
)
WIDTH, LAYERS, HEADS, INNER, POSITIONS = 64, 2, 4, 128, 24


@dataclass
class TinyPacked:
    """Contents of the file; tests change them before it is written."""

    pieces: tuple[str, ...] = PIECES
    positions: int = POSITIONS
    block: int = 32
    replacements: dict[str, str] = field(
        default_factory=lambda: {"\t": " ", "\n": " ", "\x01": "", "ﬁ": "fi"}
    )
    tensors: dict[str, tuple[int, int, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = np.random.default_rng(7)
        width, inner = WIDTH, INNER
        self._quantized("emb.word", len(self.pieces) + 3, width, numbers)
        self._floats("emb.pos", numbers.normal(0, 0.1, self.positions * width))
        self._floats("emb.type", numbers.normal(0, 0.1, 2 * width))
        self._norm("emb.ln", numbers)
        for layer in range(LAYERS):
            for name, rows, columns in (
                *((name, width, width) for name in ("q", "k", "v", "ao")),
                *(("fi", inner, width), ("fo", width, inner)),
            ):
                self._quantized(f"l{layer}.{name}.w", rows, columns, numbers)
                self._floats(f"l{layer}.{name}.b", numbers.normal(0, 0.1, rows))
            self._norm(f"l{layer}.aln", numbers)
            self._norm(f"l{layer}.oln", numbers)

    @property
    def scores(self) -> list[float]:
        """A score for each piece; longer pieces are more likely."""
        return [0.0 if i < 4 else -12.0 + len(piece) - i / 100 for i, piece in enumerate(self.pieces)]

    def to_bytes(self) -> bytes:
        """Return the file."""
        encoded = [piece.encode() for piece in self.pieces]
        starts = np.cumsum([0, *map(len, encoded)]).astype("<u4")
        sizes = (WIDTH, LAYERS, HEADS, INNER, len(self.pieces) + 3, self.positions, 2)
        data = struct.pack("<4sI7ifi", b"E5S1", 1, *sizes, 1e-12, self.block)
        data += struct.pack("<5iQ", len(encoded), 0, 2, 1, 3, int(starts[-1]))
        data += starts.tobytes() + np.array(self.scores, "<f4").tobytes() + b"".join(encoded)
        replacements = b"".join(
            struct.pack("<IB", ord(character), len(text)) + text.encode("utf-32-le")
            for character, text in self.replacements.items()
        )
        data += struct.pack("<iI", len(self.replacements), len(replacements)) + replacements
        return data + self._directory(len(data))

    def _directory(self, start: int) -> bytes:
        at = start + 4 + sum(2 + len(name) + 21 for name in self.tensors)
        entries, contents = b"", b""
        for name, (kind, count, content) in self.tensors.items():
            entries += struct.pack("<H", len(name)) + name.encode()
            entries += struct.pack("<BIQQ", kind, count, at + len(contents), len(content))
            contents += content
        return struct.pack("<i", len(self.tensors)) + entries + contents

    def _floats(self, name: str, values: np.ndarray) -> None:
        self.tensors[name] = (0, values.size, values.astype("<f4").tobytes())

    def _norm(self, name: str, numbers: np.random.Generator) -> None:
        self._floats(f"{name}.w", 1 + numbers.normal(0, 0.1, WIDTH))
        self._floats(f"{name}.b", numbers.normal(0, 0.1, WIDTH))

    def _quantized(self, name: str, rows: int, columns: int, numbers: np.random.Generator) -> None:
        blocks = rows * columns // 32
        scales = numbers.normal(0.02, 0.005, (blocks, 1)).astype("<f2").view(np.uint8)
        pairs = numbers.integers(0, 256, (blocks, 16), np.uint8)
        self.tensors[name] = (1, rows * columns, np.hstack((scales, pairs)).tobytes())


@contextmanager
def installed_package(folder: Path, data: bytes, sha256: str | None = None) -> Iterator[PackedModel]:
    """Install a package with a packed model, identified by its digest; importing the package would fail."""
    package = folder / "tiny_packed_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('raise RuntimeError("the package was imported")\n')
    (package / "tiny.bin").write_bytes(data)
    model = PackedModel(
        "tiny-packed",
        package.name,
        "tiny",
        "tiny.bin",
        sha256 or hashlib.sha256(data).hexdigest(),
        WIDTH,
        POSITIONS - 4,
        MULTILINGUAL.prompts,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setitem(PACKED, model.name, model)
        yield model
    sys.modules.pop(package.name, None)
