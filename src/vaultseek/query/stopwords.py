"""Stop words of queries whose language is unknown, in four languages at once.

The keyword index uses the list of one language instead, see ``index/keyword/query_terms.py``.
"""

from __future__ import annotations

from vaultseek.languages.stopwords import stop_words

STOP_WORDS = frozenset().union(*map(stop_words, ("en", "de", "fr", "es")))
"""Folded, but with accents."""
