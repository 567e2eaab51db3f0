"""Measurement of ranking quality on a vault with judged queries: index, search, metrics and report."""
