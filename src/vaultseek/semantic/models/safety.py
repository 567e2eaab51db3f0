"""Refusal of models that could run code or are not what they claim to be. No model is loaded."""

import hashlib
from pathlib import Path
from typing import Any

from vaultseek.errors import ConfigError
from vaultseek.semantic.models.metadata import WEIGHTS, Kind, files_of, kind_of, read_json

BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the bundled model's weights."""

_CODE_SUFFIXES = frozenset(
    {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".py", ".pyc", ".so", ".joblib", ".npy"}
)
_CODE_KEYS = frozenset({"auto_map", "trust_remote_code", "custom_pipelines"})
_TRUSTED_MODULES = "sentence_transformers."


def verify_bundled(directory: Path) -> bytes:
    """Return the bytes of the bundled model's weights after checking their digest.

    Load from these bytes, not from the file, which may have changed since. Raises `ConfigError`.
    """
    try:
        weights = (directory / WEIGHTS).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the bundled model ({error.strerror}); install it again") from None
    if hashlib.sha256(weights).hexdigest() != BUNDLED_SHA256:
        raise ConfigError(f"{directory / WEIGHTS} is not the model that vaultseek trusts; install it again")
    return weights


def check_model(directory: Path) -> Kind:
    """Check everything about a model that can be checked without loading it; return its kind.

    Raises a one-line `ConfigError` if the folder is not a model, could run code or is incomplete.
    """
    if not (directory / "config.json").is_file():
        raise ConfigError(
            f"{directory} is not a sentence-transformers model: it has no config.json; fetch the model"
        )
    refuse_code(directory)
    if not (directory / "tokenizer.json").is_file():
        raise ConfigError(
            f"model folder {directory} has no tokenizer.json, which is needed to count tokens; fetch it again"
        )
    return kind_of(directory)


def refuse_code(directory: Path) -> None:
    """Raise `ConfigError` if loading the model could run code from its folder.

    Refuses pickles and other executable formats, Python files, ``auto_map`` and similar keys in any JSON
    file, modules that are not from sentence-transformers, and a folder without safetensors weights.
    """
    has_weights = False
    for path in files_of(directory):
        if path.suffix.lower() in _CODE_SUFFIXES:
            raise ConfigError(f"model file {path} could run code; keep only safetensors files")
        if path.suffix.lower() == ".json":
            refuse_code_in(path)
        has_weights = has_weights or path.suffix == ".safetensors"
    if not has_weights:
        raise ConfigError(f"model folder {directory} has no safetensors weights; fetch the model again")


def refuse_code_in(path: Path) -> None:
    """Raise `ConfigError` if a JSON file of a model requires code to be run."""
    value = read_json(path)
    if path.name == "modules.json":
        for module in value if isinstance(value, list) else [{}]:
            kind = str(module.get("type", "") if isinstance(module, dict) else "")
            if not kind.startswith(_TRUSTED_MODULES):
                raise ConfigError(f"model file {path} requires a custom module; choose another model")
    elif path.name not in {"tokenizer.json", "vocab.json"} and _mentions_code(value):
        raise ConfigError(f"model file {path} requires running its own code; choose another model")


def _mentions_code(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(_CODE_KEYS & value.keys()) or any(_mentions_code(item) for item in value.values())
    return isinstance(value, list) and any(_mentions_code(item) for item in value)
