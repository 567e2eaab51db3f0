"""The live search: a list that is updated during typing, with a preview of the selected note.

``finder`` calls the daemon and keeps the answer, ``preview`` formats it, and ``filters`` suggests filters.
Only ``screen`` depends on the drawing library, which is imported when the command is used.
"""
