"""Every number that bounds something, in one place: bytes, depth, counts, seconds."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# Reading notes
NOTE_READ_BYTES = 8 * MIB
"""A larger file is not opened."""
NOTE_PARSE_BYTES = 2 * MIB
"""Of a larger note only name and path are searchable, and the problem is named."""
BINARY_PROBE_BYTES = 8 * KIB
PATH_BYTES = 4096

FRONTMATTER_BYTES = 64 * KIB
FRONTMATTER_DEPTH = 16
FRONTMATTER_KEYS = 1000
FRONTMATTER_SECONDS = 0.1
FRONTMATTER_EXPANDED = 256 * KIB
"""Characters and values that frontmatter may come to once its aliases are expanded."""

NOTE_LINKS = 10_000
NOTE_TAGS = 5_000
NOTE_HEADINGS = 5_000
NOTE_PROBLEMS = 50
NOTE_LINES = 30_000
"""Lines whose structure, links and tags are read; what follows is searched as plain text."""
NOTE_MARKS = 100_000
"""Characters of a note that may start a link or tag, or hide one; what follows is searched as plain text."""
OPEN_BRACKETS = 10_000
"""Brackets in one block that wait for their partner; of more, the outer half is taken for text."""
DATE_PROPERTIES = 20
TITLE_CHARS = 500
"""A heading is taken as title up to here."""

# Embedding
HEADER_SHARE = 0.35
"""At most this share of the model's window goes to title, aliases and heading path."""
LISTED_ITEMS = 50
"""Aliases and tags that are considered for a text; the first that fit are in it."""
PLAIN_CHARS = 20_000
TOKEN_CHARS = 40
"""No token is taken to be longer when a text is cut before its tokens are counted."""
BATCH_TEXTS = 32
EMBED_SECONDS = 120.0
QUERY_EMBED_SECONDS = 1.5
WORKER_MEMORY_BYTES = 4 * 1024 * MIB
WORKER_BACKOFF_SECONDS = (1.0, 2.0, 5.0, 15.0, 60.0, 300.0)

# The wire
FRAME_BYTES = 256 * KIB
"""Largest request. Answers may be larger, see ANSWER_BYTES."""
ANSWER_BYTES = 16 * MIB
HEADER_BYTES = 1 * KIB
HALF_FRAME_SECONDS = 10.0
JSON_DEPTH = 32
CLIENTS = 64
REQUESTS_IN_FLIGHT = 8
UNSENT_BYTES = 1 * MIB
SLOW_READER_SECONDS = 10.0
INTEGER_BITS = 64
RECEIVE_BYTES = 64 * KIB
"""Read and written at once. A client must take this much within SLOW_READER_SECONDS."""
READ_AHEAD_BYTES = 256 * KIB
"""Requests that wait for a slot are read up to here, so that a cancel behind them is seen."""
REQUESTS_WAITING = 1000
"""No more than this many of them, however small."""
NOTICE_BYTES = 256 * KIB
"""With more than this unsent, notifications are dropped or only the latest of a kind is kept."""
DEADLINE_SECONDS = 600.0
"""The longest that a request may ask for."""
ERROR_CHARS = 500
NAME_CHARS = 80
"""Of the name that a client gives itself, and of names from a request that an error repeats."""
KNOCKING = 8
"""So many are heard at once at the loopback port before they have shown the token."""
KNOCK_BYTES = 4 * KIB
"""Their first message, which is `initialize` with the token."""
ADDRESS_BYTES = 4 * KIB
BACKLOG = 128
PARTING_SECONDS = 1.0
"""What a client gets to read the last messages, and cancelled work to end."""
RECONNECT_SECONDS = 2.0
RECONNECT_FIRST_SECONDS = 0.02

# Queries
QUERY_CHARS = 1000
QUERY_TERMS = 32
"""Conditions in a query: phrases, exclusions, operators, properties. QUERY_CHARS bounds plain words."""
QUERY_DEPTH = 32
SNIPPET_TERMS = 64
RESULTS = 200
LISTED_NOTES = 50_000
"""A query of filters alone names so many notes; those after the first RESULTS without a passage."""

# Watching
HINTS = 10_000
"""More pending hints than this collapse into one scan of the vault."""
RESCAN_SECONDS = 3600.0

# Taking notes in
LOG_BYTES = 1 * MIB

# Looking at the vault
EXCLUDED_FILES_BYTES = 256 * KIB
EXCLUDED_FILES_RULES = 200
EXCLUDED_RULE_SECONDS = 0.01

# The ledger
SQL_VARIABLES = 500

# Settings
CONFIG_BYTES = 1 * MIB
CONFIG_LINES = 2_000
"""In a longer configuration a wrong key is named without its line."""
RESCAN_MINUTES = 7 * 24 * 60
WEIGHT = 100.0
"""Largest weight or factor of a ranking setting."""

# Vectors
OPENING_CHARS = 2_000

# Counting tokens
TOKEN_WORD_CHARS = 1_000
"""A longer run without white space is taken apart before the tokenizer sees it."""

# Keeping a vault
RETRY_SECONDS = 1.0
EMBED_RETRY_SECONDS = 10.0

# The keyword index
SURFACE_CHARS = 1000
"""Of a longer run of characters without a space only this much is analysed."""
TERM_CHARS = 80
COMPOUND_PARTS = 32

# The command line
TERMINAL_COLUMNS = 80
DAEMON_POLL_SECONDS = 0.02
REFRESH_SECONDS = 5.0
"""How long `vaultseek index` without --wait, or a question about an unknown note, waits for the disk."""
CALL_SECONDS = 30.0

# Resolving links
PROGRESS_SECONDS = 0.2
HASHING_WINDOW = 254

# The semantic worker and its vectors
WORKER_HEADER_BYTES = 32 * MIB
WORKER_PAYLOAD_BYTES = 256 * MIB
RERANK_SECONDS = 0.7
RERANKED_NOTES = 100

MODEL_FILES = 1_000
MODEL_JSON_BYTES = 64 * MIB

VECTOR_FREE_BYTES = 16 * MIB

# Chunking
KEYWORD_TERMS = 64

# Answers
PREVIEW_CHARS = 240

# Inspecting
MODEL_WINDOW = 254
"""Tokens that the bundled model reads, without the two marks that it adds."""

# Asking about notes
CANDIDATES_NAMED = 10
"""So many notes are named when a name could mean several."""
NOTE_TEXT_CHARS = 1_000_000
LINE_CHARS = 240
"""Of a line that a link or a mention stands in, so much is shown."""
NEIGHBOUR_DEPTH = 5
NEIGHBOUR_EDGES = 2_000

LISTED_ITEMS_MOST = 10_000
"""Links, tags and notes in one list."""

# Completing as one types
COMPLETIONS = 100

# Concepts
CONCEPT_TERMS = 4_000
"""Terms of a vault that are kept with their vectors: six megabytes of memory, half a minute to embed."""
CONCEPT_CHARS = 60
CONCEPT_FILE_BYTES = 64 * MIB
EXPANSION_TERMS = 10

# Measuring
JUDGEMENTS_BYTES = 256 * MIB
GRADE = 1_000_000
MEASURED_CANDIDATES = 100
"""Results that are asked for when ranking is measured."""

# Answering agents
AGENT_TOKENS_MOST = 20_000
