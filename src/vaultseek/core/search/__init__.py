"""Search: the steps from a query to its results. Read the modules in the order in which a query passes them.

``request`` (parse) -> ``store/ledger/filter`` -> ``retrieve`` -> ``lanes`` -> ``ranking`` with ``links``,
``signals`` and ``matching`` -> ``selection`` -> ``rerank`` -> ``passages`` -> ``response`` with ``snippet``.
``pipeline`` calls these steps, and ``formula`` contains the arithmetic of the ranking.
"""
