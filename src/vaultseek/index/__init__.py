"""The ledger, and the indexes that can be rebuilt from it: keywords, vectors, graph, concept vocabulary."""
