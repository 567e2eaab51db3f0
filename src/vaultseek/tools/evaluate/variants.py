"""Variants to compare: the current settings, the baselines, and the settings given with ``--compare``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaultseek.base.model import Mode
from vaultseek.errors import UsageError
from vaultseek.settings.load import with_overrides
from vaultseek.settings.search import SearchSettings

DEFAULT = "vaultseek"
GREP = "grep"
KEYWORD = "keyword alone"
SEMANTIC = "semantic alone"
PLAIN_RRF = "plain RRF"


@dataclass(frozen=True, slots=True)
class Variant:
    """A named way to search; with ``grep``, the baseline that uses no index."""

    name: str
    settings: SearchSettings
    mode: Mode = "hybrid"
    grep: bool = False


def variants(settings: SearchSettings, compared: Sequence[str] = ()) -> list[Variant]:
    """Return variants for the current settings, for four baselines, and for each entry of ``compared``.

    An entry of ``compared`` has the form ``NAME=KEY:VALUE,KEY:VALUE``, with keys of ``[search]``. Raises
    UsageError if an entry has a different form, has an invalid setting, or has a name that is taken.
    """
    plain = {
        "fusion": "rrf",
        "rrf_ranks": "integer",
        "rrf_k": 60.0,
        "adaptive": False,
        "keyword_weight": 1.0,
        "semantic_weight": 1.0,
        "graph": False,
        "nothing_below": 0.0,
        "min_confidence": 0.0,
        "rerank_enabled": False,
        "anchor_boost": 1.0,
        "expansion.enabled": False,
        "recency.enabled": False,
    }
    ways = [
        Variant(DEFAULT, settings, settings.mode),
        Variant(GREP, settings, grep=True),
        Variant(KEYWORD, settings, "keyword"),
        Variant(SEMANTIC, settings, "semantic"),
        Variant(PLAIN_RRF, with_overrides(settings, plain)),
    ]
    for text in compared:
        variant = _parse(text, settings)
        if variant.name in {other.name for other in ways}:
            raise UsageError(f"--compare {text}: the name {variant.name!r} is taken; choose another")
        ways.append(variant)
    return ways


def overrides(variant: Variant, first: Variant) -> dict[str, Any]:
    """Return the settings in which ``variant`` differs from ``first``, by dotted key; empty for grep."""
    if variant.grep:
        return {}
    base, own = (dict(_flat(each.settings.model_dump(mode="json"))) for each in (first, variant))
    differing = {key: value for key, value in own.items() if value != base[key]}
    return differing | ({"mode": variant.mode} if variant.mode != first.mode else {})


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _parse(text: str, settings: SearchSettings) -> Variant:
    name, equals, pairs = text.partition("=")
    values = [pair.partition(":") for pair in pairs.split(",") if pair.strip()]
    if not name.strip() or not equals or not values or any(not colon for _, colon, _ in values):
        raise UsageError(f"--compare {text}: expected NAME=KEY:VALUE,KEY:VALUE, such as flat=rrf_k:100")
    pairs_by_key = {key.strip(): value.strip() for key, _, value in values}
    try:
        own = with_overrides(settings, pairs_by_key)
    except UsageError as error:
        raise UsageError(f"--compare {text}: {error}") from None
    return Variant(name.strip(), own, own.mode)
