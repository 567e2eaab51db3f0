"""The path of a query; read the modules in this order.

``request`` (parse) -> ``store/ledger/filter`` -> ``retrieve`` -> ``lanes`` -> ``ranking`` with ``links``,
``signals`` and ``matching`` -> ``selection`` -> ``rerank`` -> ``passages`` -> ``response`` with ``snippet``.
``pipeline`` calls the steps, ``formula`` is the arithmetic of the ranking.
"""
