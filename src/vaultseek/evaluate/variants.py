"""What is compared: the settings as they are, the baselines, and settings that somebody wants to try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaultseek.errors import UsageError
from vaultseek.model import Mode
from vaultseek.settings.load import with_overrides
from vaultseek.settings.model import SearchSettings

DEFAULT = "vaultseek"
GREP = "grep"
KEYWORD = "keyword alone"
SEMANTIC = "semantic alone"
PLAIN_RRF = "plain RRF"


@dataclass(frozen=True, slots=True)
class Variant:
    """A name and how its searches are asked; ``grep`` stands for no search of ours at all."""

    name: str
    settings: SearchSettings
    mode: Mode = "hybrid"
    grep: bool = False


def variants(settings: SearchSettings, compared: Sequence[str] = ()) -> list[Variant]:
    """The settings as they are, four baselines, and those of ``compared``.

    An entry of ``compared`` is ``NAME=KEY:VALUE,KEY:VALUE``, with keys of ``[search]`` and ``mode``. Raises
    UsageError for one that is not, or for a name that is taken.
    """
    plain = {
        "fusion": "rrf",
        "rrf_ranks": "integer",
        "rrf_k": 60.0,
        "adaptive": False,
        "keyword_weight": 1.0,
        "semantic_weight": 1.0,
        "graph": False,
        "company": 0.0,
        "nothing_below": 0.0,
        "min_confidence": 0.0,
        "rrf_min_score": 0.0,
        "rerank_enabled": False,
        "anchor_boost": 1.0,
        "expansion.enabled": False,
        "recency.enabled": False,
    }
    found = [
        Variant(DEFAULT, settings, settings.mode),
        Variant(GREP, settings, grep=True),
        Variant(KEYWORD, settings, "keyword"),
        Variant(SEMANTIC, settings, "semantic"),
        Variant(PLAIN_RRF, with_overrides(settings, plain)),
    ]
    for text in compared:
        variant = _parsed(text, settings)
        if variant.name in {other.name for other in found}:
            raise UsageError(f"--compare {text}: the name {variant.name!r} is taken; choose another")
        found.append(variant)
    return found


def changed(variant: Variant, first: Variant) -> dict[str, Any]:
    """The settings in which ``variant`` is not ``first``, by key, with dots inside; none for grep."""
    if variant.grep:
        return {}
    before, now = (dict(_flat(each.settings.model_dump(mode="json"))) for each in (first, variant))
    found = {key: value for key, value in now.items() if value != before[key]}
    return found | ({"mode": variant.mode} if variant.mode != first.mode else {})


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _parsed(text: str, settings: SearchSettings) -> Variant:
    name, equals, pairs = text.partition("=")
    values = [pair.partition(":") for pair in pairs.split(",") if pair.strip()]
    if not name.strip() or not equals or not values or any(not colon for _, colon, _ in values):
        raise UsageError(f"--compare {text}: expected NAME=KEY:VALUE,KEY:VALUE, such as flat=rrf_k:100")
    wanted = {key.strip(): value.strip() for key, _, value in values}
    try:
        changed = with_overrides(settings, wanted)
    except UsageError as error:
        raise UsageError(f"--compare {text}: {error}") from None
    return Variant(name.strip(), changed, changed.mode)
