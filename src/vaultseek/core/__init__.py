"""The library: opening, indexing and searching a vault without a daemon."""
