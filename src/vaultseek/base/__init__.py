"""Foundations used by all other packages: limits, paths, text, values."""
