"""The ways to ask beside searching: about one note, its links and its likes, and about the vault as a whole.

Everything here reads; answers are in the form that ``--json`` prints.
"""
