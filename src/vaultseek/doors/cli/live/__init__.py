"""The live search: a list that follows the typing, with a preview of the selected note.

``finder`` calls the daemon and keeps its answer, ``preview`` formats it, ``filters`` suggests filters. Only
``screen`` depends on the drawing library, and is imported when the command is used.
"""
