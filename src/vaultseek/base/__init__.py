"""Foundations used by all other packages: limits, paths, texts, values."""
