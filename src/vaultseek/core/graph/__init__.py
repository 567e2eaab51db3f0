"""Analyse the links of a whole vault: structure, routes between notes, and missing links."""
