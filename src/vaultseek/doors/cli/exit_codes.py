"""Exit codes of the command line. They are part of its interface and must not change."""

SUCCESS = 0
NO_MATCH = 1
USAGE = 2
UNAVAILABLE = 3
BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141
