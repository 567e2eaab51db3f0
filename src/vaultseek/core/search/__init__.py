"""The way of a query, read in this order.

``request`` (parse) -> ``filter`` with ``prefilter`` -> ``retrieve`` -> ``scoring`` -> ``ranking`` with
``fusion`` and ``graph_boost`` -> ``rerank`` -> ``response`` with ``snippet``. ``pipeline`` calls the steps,
``trace`` keeps what they return, ``formula`` is the arithmetic of the ranking, ``port`` what a search needs
of a vault.
"""
