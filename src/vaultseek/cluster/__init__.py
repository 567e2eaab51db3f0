"""Embedding in bulk on many machines: texts go to the tasks of a cluster, vectors come back to the daemon."""
