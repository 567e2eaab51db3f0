"""Queries other than search: about one note, its links and related notes, and about the vault as a whole.

Read-only; answers have the form that ``--json`` prints.
"""
