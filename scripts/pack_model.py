"""Write a wheel with a fetched model, which vaultseek finds wherever the wheel is installed, without a hub.

    scripts/pack_model NAME FOLDER [--licence ID]

NAME is a fetched model or the folder of one. The weights are stored in half precision, so the wheel is half
as large; cosines to the original vectors are above .9999. The wheel states the licence in the model's card.
Check whether this licence lets you pass the model on.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from vaultseek.errors import ConfigError
from vaultseek.semantic.models.directories import PACKAGES, model_directory
from vaultseek.semantic.models.fetch import LICENCES
from vaultseek.semantic.models.metadata import MODEL_SUFFIXES, digest, files_of
from vaultseek.semantic.models.safety import check_model

VERSION = "1"
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
"""Modification time of the files in the wheel, so that the same model gives the same wheel."""
_PREFIX = 8
_LARGEST = float(np.finfo(np.float16).max)


def main(name: str, folder: Path, licence: str | None = None) -> Path:
    """Write the wheel into ``folder`` and return its path.

    Raises ConfigError if the model is missing, may run code, has no known licence, or does not fit into half
    precision.
    """
    source = model_directory(name)
    check_model(source)
    licence = licence or licence_of(source)
    if licence is None:
        raise ConfigError(f"the card of {name} states no licence; pass --licence")
    kept = sorted(filter(is_kept, files_of(source)))
    files = {str(file.relative_to(source)): packed(file) for file in kept}
    distribution = f"vaultseek_model_{re.sub('[^a-z0-9]+', '_', source.name.lower())}"
    summary = f"The embedding model {source.name.replace('--', '/', 1)} in half precision, for vaultseek"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {VERSION}\nSummary: {summary}\n"
    information = f"{distribution}-{VERSION}.dist-info"
    contents = {f"{PACKAGES}/{source.name}/{path}": data for path, data in files.items()} | {
        f"{PACKAGES}/{source.name}.digest": digest_of(source.name, files).encode(),
        f"{information}/METADATA": f"{metadata}License: {licence}\n".encode(),
        f"{information}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{_hash(data)},{len(data)}\n" for path, data in contents.items())
    contents[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    wheel = folder / f"{distribution}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            entry = zipfile.ZipInfo(path, FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return wheel


def is_kept(file: Path) -> bool:
    """True if the file belongs to the model or states its licence."""
    return file.suffix in MODEL_SUFFIXES or file.name in LICENCES


def packed(file: Path) -> bytes:
    """Return the content of a file, with weights in half precision."""
    data = file.read_bytes()
    return in_half_precision(data, file.name) if file.suffix == ".safetensors" else data


def in_half_precision(data: bytes, name: str) -> bytes:
    """Return a safetensors file with its float32 tensors in half precision.

    Raises ConfigError if a number is too large for half precision.
    """
    start = _PREFIX + int.from_bytes(data[:_PREFIX], "little")
    header = json.loads(data[_PREFIX:start])
    parts, end = [], 0
    for tensor, place in header.items():
        if tensor == "__metadata__":
            continue
        first, last = (start + offset for offset in place["data_offsets"])
        part = data[first:last]
        if place["dtype"] == "F32":
            numbers = np.frombuffer(part, "<f4")
            if np.abs(numbers).max(initial=0.0) > _LARGEST:
                raise ConfigError(f"{name} has numbers too large for half precision")
            part, place["dtype"] = numbers.astype("<f2").tobytes(), "F16"
        place["data_offsets"] = [end, end + len(part)]
        parts.append(part)
        end += len(part)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % _PREFIX)
    return len(head).to_bytes(_PREFIX, "little") + head + b"".join(parts)


def licence_of(source: Path) -> str | None:
    """Return the licence in the frontmatter of the model's card; None if it states none."""
    card = source / "README.md"
    if not card.is_file():
        return None
    text = card.read_text(encoding="utf-8", errors="replace")
    frontmatter = re.match(r"---\n(.*?)^---$", text, re.MULTILINE | re.DOTALL)
    found = re.search(r"^license: *([\w.+-]+) *$", frontmatter[1], re.MULTILINE) if frontmatter else None
    return found[1] if found else None


def digest_of(name: str, files: dict[str, bytes]) -> str:
    """Return the digest of a model with these files, as vaultseek computes it."""
    with tempfile.TemporaryDirectory() as temporary:
        for path, data in files.items():
            file = Path(temporary, name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return digest(Path(temporary, name))


def _hash(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--licence", help="the licence, if the model's card states none")
    try:
        print(main(**vars(parser.parse_args())))
    except ConfigError as error:
        sys.exit(f"error: {error}")
