"""Measuring ranking quality on a vault with judged queries: index, search, compute metrics, report."""
