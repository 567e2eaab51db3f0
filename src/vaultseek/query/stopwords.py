"""Stop words of queries, in four languages at once.

The language of a query is unknown, and a query has more words that only ask (``explain``, ``find``) than a
note has. The keyword index uses the list of its own language instead, see ``index/keyword/analysis.py``.
"""

from __future__ import annotations

_ENGLISH = """
a about after again all also am an and any are as at be because been before being between both but
by can could did do does doing done down during each either else ever every find for from further
get give go had has have having he her here hers him his how i if in into is it its just know let
like list look me mean means might more most must my need no nor not now of off on once one only or
other our out over own please same shall she should show so some something such tell than that the
their them then there these they thing things this those through to too under until up us use used
very want was way we were what when where which while who whom whose why will with within without
would you your explain describe whats what's it's i'm don't
"""
_GERMAN = """
aber als am an auch auf aus bei bin bis das dass dem den der des die dies diese dieser doch du durch
ein eine einem einen einer eines er es für gegen hat ich im in ist ja kann mein mich mir mit nach
nicht noch nur oder ohne sein seine sich sie sind so über um und uns unter vom von vor war was wenn
wer werden wie wird wo zu zum zur
"""
_FRENCH = """
au aux avec ce ces cette comment dans de des du elle en est et il ils je la le les leur lui mais me
mes mon ne nos notre nous on ou où par pas pour pourquoi qu que quel quelle qui sa se ses son sont
sur ta te tu un une vous
"""
_SPANISH = """
al como con cual cuando de del donde el ella en entre es esta este la las lo los más mi muy no nos o
para pero por porque qué que quien se ser si sin sobre son su sus te un una unos y ya
"""

STOP_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH}".split())
"""Folded, but with accents."""
