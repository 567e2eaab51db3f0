"""Measuring ranking quality on a vault with judged queries: index, search, metrics, report."""
