"""Programs around the library: evaluation, diagnosis, indexing on a cluster."""
