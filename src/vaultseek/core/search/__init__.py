"""The path of a query through the modules, in the order in which to read them.

``request`` (parse) -> ``store/ledger/filter`` -> ``retrieve`` -> ``lanes`` -> ``ranking`` with ``links``,
``signals`` and ``matching`` -> ``selection`` -> ``rerank`` -> ``passages`` -> ``response`` with ``snippet``.
``pipeline`` calls the steps, ``formula`` is the arithmetic of the ranking.
"""
