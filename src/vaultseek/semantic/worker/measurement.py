"""Measurements of embedding in bulk, in one file for all models of this machine."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.model import JSON

BULK_GAIN = 1.2
"""Least gain in speed for which another process is worth its memory."""
UNCLEAR_GAIN = 0.8
"""Least gain that a busy machine may have reduced; it is measured again by the next worker."""
BULK_COSINE = 0.999
"""Least cosine of a vector to that of float32."""
BULK_MEAN_COSINE = 0.9999
_LIBRARIES = ("onnxruntime", "torch")


@dataclass(frozen=True, slots=True)
class Measurement:
    """Speed of bfloat16 in times of float32's, and the cosines of its vectors to those of float32."""

    gain: float
    cosine: float
    mean_cosine: float

    @property
    def is_better(self) -> bool:
        """True if bfloat16 is faster, and its vectors are as good."""
        return self._is_true and self.gain >= BULK_GAIN

    @property
    def is_clear(self) -> bool:
        """True if another measurement would hardly say something else."""
        return not self._is_true or not UNCLEAR_GAIN <= self.gain < BULK_GAIN

    @property
    def _is_true(self) -> bool:
        return self.cosine >= BULK_COSINE and self.mean_cosine >= BULK_MEAN_COSINE


class Measurements:
    """The measurement of the model ``fingerprint`` on this processor with these versions of the libraries."""

    def __init__(self, file: Path, fingerprint: str) -> None:
        self._file = file
        self._key = " | ".join((fingerprint, _processor(), str(os.cpu_count()), *map(_version, _LIBRARIES)))

    def read(self) -> Measurement | None:
        """Return the measurement; None if there is none, or the file is damaged."""
        entry = self._entries().get(self._key)
        try:
            return Measurement(**{key: float(value) for key, value in entry.items()}) if entry else None
        except (TypeError, ValueError, AttributeError):
            return None

    def write(self, measurement: Measurement) -> None:
        """Keep the measurement. Raises OSError."""
        paths.private_directory(self._file.parent)
        entries = {**self._entries(), self._key: asdict(measurement)}
        paths.write_atomically(self._file, json.dumps(entries, indent=1))

    def _entries(self) -> JSON:
        try:
            entries = paths.read_json(self._file)
        except (OSError, ValueError):
            return {}
        return entries if isinstance(entries, dict) else {}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"
