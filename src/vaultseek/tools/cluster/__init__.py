"""Indexing in bulk on many machines: notes and texts go to the tasks of a cluster, results to the daemon."""
