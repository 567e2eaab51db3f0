"""The live search: a list that follows the typing, with a preview of the selected note.

``finder`` asks the daemon and holds what it answered, ``page`` makes text of it, ``filters`` offers what can
narrow the search. These know nothing of the library that draws: that is ``screen``, which is imported when
the command is used.
"""
