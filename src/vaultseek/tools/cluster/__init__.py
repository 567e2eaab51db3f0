"""Embedding in bulk on many machines: texts go to the tasks of a cluster, vectors to the daemon."""
