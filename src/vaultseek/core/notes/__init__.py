"""Queries other than search: about one note, its links and related notes, and about the vault as a whole.

Everything here only reads; answers are in the form that ``--json`` prints.
"""
