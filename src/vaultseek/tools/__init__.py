"""Tools around the library: evaluation, diagnosis, and indexing on a cluster."""
