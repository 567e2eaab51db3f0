"""Measuring ranking on a vault with judged queries: index, ask, score, compare, report."""
