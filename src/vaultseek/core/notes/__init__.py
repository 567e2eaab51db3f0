"""Answer requests other than searches: about a note, its links and related notes, or the whole vault.

All modules are read-only. Answers are in the form that ``--json`` prints.
"""
