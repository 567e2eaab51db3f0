"""The ledger and the three indexes that can be refilled from it: keyword, semantic, graph."""
