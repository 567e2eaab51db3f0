"""Stop words of queries whose language is unknown, in four languages at once.

The keyword index uses the list of one language instead, see ``store/keyword/query_terms.py``.
"""

from __future__ import annotations

from vaultseek.content.languages.stopwords import stop_words

_OTHERS = frozenset[str]().union(*map(stop_words, ("de", "fr", "es")))

STOP_WORDS = stop_words("en") | {word for word in _OTHERS if len(word) > 1}
"""Folded, but with accents. A single letter begins an identifier more often: ``E-4107``."""
