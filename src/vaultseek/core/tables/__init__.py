"""Obsidian's Bases, evaluated over the index, and tables of the notes found by a query."""
