"""Every number that bounds something, in one place: bytes, depth, counts, seconds."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# Reading notes
NOTE_READ_BYTES = 8 * MIB
"""A larger file is not opened; its name and path stay searchable and the problem is named."""
NOTE_PARSE_BYTES = 2 * MIB
"""A larger note is not parsed for structure; its name and path stay searchable."""
BINARY_PROBE_BYTES = 8 * KIB
PATH_BYTES = 4096

FRONTMATTER_BYTES = 64 * KIB
FRONTMATTER_DEPTH = 16
FRONTMATTER_KEYS = 1000
FRONTMATTER_SECONDS = 0.1

NOTE_LINKS = 10_000
NOTE_TAGS = 1_000
NOTE_HEADINGS = 5_000
NOTE_PROBLEMS = 50

# Embedding
HEADER_SHARE = 0.35
"""At most this share of the model's window goes to title, aliases and heading path."""
BATCH_TEXTS = 32
EMBED_SECONDS = 120.0
QUERY_EMBED_SECONDS = 1.5
WORKER_START_SECONDS = 120.0
WORKER_MEMORY_BYTES = 4 * 1024 * MIB
WORKER_BACKOFF_SECONDS = (1.0, 2.0, 5.0, 15.0, 60.0, 300.0)
WORKER_BREAKER_FAILURES = 5

# The wire
FRAME_BYTES = 256 * KIB
"""Largest request. Answers may be larger, see ANSWER_BYTES."""
ANSWER_BYTES = 4 * MIB
HEADER_BYTES = 1 * KIB
HALF_FRAME_SECONDS = 10.0
JSON_DEPTH = 32
CLIENTS = 64
REQUESTS_IN_FLIGHT = 8
UNSENT_BYTES = 1 * MIB
SLOW_READER_SECONDS = 10.0

# Queries
QUERY_CHARS = 1000
QUERY_TERMS = 32
RESULTS = 200
SEARCH_SECONDS = 1.5

# Watching
HINTS = 10_000
"""More pending hints than this collapse into one scan of the vault."""
SETTLE_SECONDS = 0.05
SETTLE_MAX_SECONDS = 2.0
RESCAN_SECONDS = 3600.0

# Taking notes in
BATCH_NOTES = 256
LOG_BYTES = 1 * MIB
LOG_FILES = 5

# Looking at the vault
EXCLUDED_FILES_BYTES = 256 * KIB
EXCLUDED_FILES_RULES = 200
EXCLUDED_RULE_SECONDS = 0.01
READ_ATTEMPTS = 3
RACY_NANOSECONDS = 2_000_000_000
"""A file younger than this when it was read is read again: a later write could carry the same stamp."""
VANISHED_SHARE = 0.5
"""If more than this share of the notes is gone at once, the vault is taken to be unmounted until seen twice."""
VANISHED_NOTES = 20

# The ledger
SQL_VARIABLES = 500
CATCH_UP_NOTES = 1024
"""The keyword index is brought up to the ledger whenever this many notes have changed."""

# Settings
CONFIG_BYTES = 1 * MIB
RESCAN_MINUTES = 7 * 24 * 60
WEIGHT = 100.0
"""Largest weight or factor of a ranking setting."""
SHOWN_CHARS = 80
"""How much of a wrong value an error message repeats."""

# Vectors
WAITING_CHUNKS = 512
OPENING_CHARS = 2_000

# Counting tokens
TOKEN_CACHE_WORDS = 100_000
TOKEN_CACHE_WORD_CHARS = 64
"""Longer words are counted each time; they are rare and would fill the table."""

# Keeping a vault
LIVENESS_SECONDS = 2.0
RETRY_SECONDS = 1.0
PROBLEMS_SHOWN = 200
