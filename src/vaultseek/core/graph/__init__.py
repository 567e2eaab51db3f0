"""Analysis of a whole vault's links: structure, paths between notes, and missing links."""
