"""Limits in bytes, characters, counts, depths and seconds.

Bounds against hostile input live here, as do numbers shared by several modules. Tuning constants are at the
top of the module that uses them.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# Notes
NOTE_READ_BYTES = 8 * MIB
"""Maximum size of a file that is opened."""
NOTE_PARSE_BYTES = 2 * MIB
"""Maximum size of a parsed note; larger notes are indexed by name and path only, and reported as a
problem."""
BINARY_PROBE_BYTES = 8 * KIB
"""Number of bytes at the start of a file that are checked for binary content."""
PATH_BYTES = 4096
"""Maximum length of a path in bytes."""
NOTE_LINKS = 10_000
"""Maximum number of links read from one note."""
NOTE_TAGS = 5_000
"""Maximum number of tags read from one note."""
NOTE_HEADINGS = 5_000
"""Maximum number of headings read from one note."""
NOTE_PROBLEMS = 50
"""Maximum number of problems reported for one note."""
NOTE_LINES = 30_000
"""Maximum number of lines of a note that are parsed for structure, links and tags; the rest is indexed as
plain text."""
NOTE_MARKS = 100_000
"""Maximum number of a note's characters that can open or hide a link or tag; the text after them is indexed
as plain text."""
OPEN_BRACKETS = 10_000
"""Maximum number of unmatched opening brackets in one block; if there are more, the outer half counts as
plain text."""
TITLE_CHARS = 500
"""Maximum length of a title taken from a heading."""
READER_NOTE_SECONDS = 60.0
"""Maximum processor seconds of a reader process for one note."""
READER_JOB_BYTES = 4 * MIB
"""Maximum bytes of notes in one batch of a reader process."""
READER_MEMORY_BYTES = 2048 * MIB
"""Maximum address space of a reader process."""

# Files of other kinds
CANVAS_BYTES = 8 * MIB
"""Maximum size of a canvas."""
CANVAS_NODES = 10_000
"""Maximum number of nodes, and of edges, read from a canvas."""
CANVAS_GROUPS = 500
"""Maximum number of groups of a canvas that are read."""
DRAWING_BYTES = 32 * MIB
"""Maximum size of a drawing, which may contain its pictures."""
DRAWING_ELEMENTS = 50_000
"""Maximum number of elements of a drawing that are read."""
TEXT_BYTES = 2 * MIB
"""Maximum size of a plain text or Org file."""
PAGE_BYTES = 8 * MIB
"""Maximum size of an HTML file."""
SESSION_BYTES = 64 * MIB
"""Maximum size of a coding agent's log; most of it is tool output, which is left out."""
PDF_BYTES = 128 * MIB
"""Maximum size of a PDF."""
PDF_PAGES = 3_000
"""Maximum number of pages of a PDF that are read."""
PDF_OUTLINE = 5_000
"""Maximum number of entries of a PDF's outline that are read."""
OCR_PAGES = 100
"""Maximum number of scanned pages of a PDF that are read by OCR."""
OCR_PIXELS = 40_000_000
"""Maximum pixels of a picture read by OCR."""
IMAGE_BYTES = 32 * MIB
"""Maximum size of a picture."""
EXTRACTED_CHARS = 4 * MIB
"""Maximum number of characters extracted from one file; the rest is left out."""
EXTRACTION_SECONDS = 30.0
"""Maximum processor seconds for reading a file other than Markdown."""
OCR_SECONDS = 600.0
"""Maximum processor seconds for reading a file with OCR."""
EXTRACTION_MEMORY_BYTES = 1536 * MIB
"""Maximum address space of the process that reads files other than Markdown."""
OCR_MEMORY_BYTES = 4096 * MIB
"""Maximum address space of the process that reads files with OCR."""
EXTRACTION_IDLE_SECONDS = 30.0
"""Idle seconds after which the process that reads files ends."""
EXTRACTION_RETRY_SECONDS = 5.0
"""Minimum seconds before another attempt at a file whose reader process ended."""

# Frontmatter
FRONTMATTER_BYTES = 64 * KIB
"""Maximum size of a frontmatter block."""
FRONTMATTER_DEPTH = 16
"""Maximum nesting of values in frontmatter."""
FRONTMATTER_KEYS = 1000
"""Maximum number of keys in one frontmatter block, including nested ones."""
FRONTMATTER_EXPANDED = 256 * KIB
"""Maximum number of characters and values after alias expansion (against "billion laughs")."""

# Settings of Obsidian in a vault
FOLDER_NAMES = 5_000
VAULT_NAMES = 50_000
"""Maximum number of file names in a folder, and approximately in a vault, that are read to find out whether
dates begin with the day or the month."""
APP_SETTINGS_BYTES = 1 * MIB
"""Maximum size of an Obsidian settings file; larger files are ignored."""
EXCLUDED_FILES_RULES = 200
"""Maximum number of rules of "Excluded files" read from one vault."""
EXCLUDED_RULE_SECONDS = 0.01
"""Maximum seconds for matching a path against a single regular expression."""
EXCLUDED_RULES_SECONDS = 1.0
"""Total seconds for matching in one scan, after which slow rules are dropped."""

# Tokens and terms
TOKEN_WORD_CHARS = 1_000
"""Maximum length of a run without white space that is passed to the tokenizer as a whole."""
TOKEN_CHARS = 40
"""Assumed maximum length of a token when a text is cut before its tokens are counted."""
COMPOUND_CHARS = 1000
"""Maximum length of a token that the keyword index analyses."""
TERM_CHARS = 80
"""Maximum length of a term in the keyword index."""
COMPOUND_PARTS = 32
"""Maximum number of parts indexed from one compound word."""

# Regular expressions of queries, formulas and vaults
PATTERN_CHARS = 10_000
"""Maximum number of characters in a pattern with its counted repeats written out."""
PATTERN_COMPILE_SECONDS = 2.0
"""Maximum processor seconds for compiling a long pattern."""
PATTERN_MEMORY_BYTES = 1024 * MIB
"""Maximum address space of the process that matches long patterns and texts."""
PATTERN_IDLE_SECONDS = 30.0
"""Idle seconds after which the process that matches long patterns and texts ends."""

# Queries
QUERY_CHARS = 1000
"""Maximum length of a query."""
PASSAGE_CHARS = 10_000
"""Maximum length of a text used instead of a query."""
QUERY_TERMS = 32
"""Maximum number of conditions in a query: phrases, exclusions, operators, properties. Plain words are
limited by QUERY_CHARS."""
QUERY_DEPTH = 32
"""Maximum nesting of parentheses in a query."""
EXPRESSION_SECONDS = 0.25
"""Maximum processor seconds for matching one text against a regular expression of a query."""
MATCHING_SECONDS = 1.5
"""Maximum processor seconds for all matching of regular expressions in one request."""
EXPRESSIONS_SECONDS = 10.0
"""Maximum processor seconds for reading and matching the notes of a vault; the request's deadline may be
earlier."""
KEYWORD_TERMS = 64
"""Maximum number of terms of a query that the keyword index scores."""
TERM_CACHE_BYTES = 32 * MIB
"""Maximum bytes of term scores and places that the keyword index of one vault keeps in memory."""
TERM_CACHE_NOTE_BYTES = 128
"""Additional bytes per note for the cache of term scores and places; they matter above 250,000 notes."""

# Tables
BASE_BYTES = 1 * MIB
"""Maximum size of a base, as a file or as a block in a note."""
BASE_DEPTH = 40
"""Maximum nesting of a base's YAML."""
BASE_KEYS = 10_000
"""Maximum number of keys in a base's YAML, including nested ones."""
BASE_VIEWS = 200
"""Maximum number of views read from one base."""
BASES_IN_NOTE = 50
"""Maximum number of bases that one note contains or embeds."""
FORMULA_CHARS = 10_000
"""Maximum length of a filter or formula."""
FORMULA_DEPTH = 60
"""Maximum nesting of a filter or formula."""
FORMULA_VALUE_CHARS = 500_000
"""Maximum characters and elements of a value created by a formula."""
FORMULA_PATTERN_SECONDS = 0.1
"""Maximum processor seconds for one regular expression of a formula on one text."""
TABLE_SECONDS = 20.0
"""Maximum seconds for one table."""
TABLE_VALUES_CHARS = 64 * MIB
"""Maximum characters and elements of all values created by one table's formulas."""
TABLE_COLUMNS = 100
"""Maximum number of columns of one table."""
TABLE_CHARS = 8 * MIB
"""Maximum number of characters in all table cells of one answer. Further rows are left out, and the answer
reports that."""
TABLE_PROBLEMS = 20
"""Maximum number of problems reported with one table."""

# Results
SHOWN_RESULTS = 10
"""Default number of results of a search."""
RESULTS = 200
"""Maximum number of results of one search."""
LISTED_NOTES = 50_000
"""Maximum number of notes listed for a query with only filters; notes after the first RESULTS have no
passage."""
NOTE_PASSAGES = 20
"""Maximum number of passages of one note in the answer to a search."""
RERANKED_NOTES = 100
"""Maximum number of results that the cross-encoder may rerank."""
PREVIEW_CHARS = 240
"""Maximum length of a result's preview."""
LINE_CHARS = 240
"""Maximum length of the line shown with a link or a mention."""
LISTED_ITEMS_MOST = 10_000
"""Maximum number of links, tags and notes in one list."""
COMPLETIONS = 100
"""Maximum number of completions in one response."""
CANDIDATES_NAMED = 10
"""Maximum number of notes listed in the error for an ambiguous name."""
NOTE_TEXT_CHARS = 1_000_000
"""Maximum characters of a note in one response."""
NEIGHBOUR_DEPTH = 5
"""Maximum number of steps along links in the neighbourhood of a note."""
NEIGHBOUR_EDGES = 2_000
"""Maximum number of links in the neighbourhood of a note."""
AGENT_TOKENS_LEAST, AGENT_TOKENS, AGENT_TOKENS_MOST = 200, 2_000, 20_000
"""Minimum, default and maximum token budget of an answer to an agent."""

# The wire
FRAME_BYTES = 256 * KIB
"""Maximum size of a request; responses may be larger, see ANSWER_BYTES."""
ANSWER_BYTES = 16 * MIB
"""Maximum size of a response."""
HEADER_BYTES = 1 * KIB
"""Maximum size of a frame's header."""
JSON_DEPTH = 32
"""Maximum nesting of JSON in a request."""
INTEGER_BITS = 64
"""Maximum size in bits of integers in a request."""
RECEIVE_BYTES = 64 * KIB
"""Number of bytes read or written at once; a client must read this many within SLOW_READER_SECONDS."""
READ_AHEAD_BYTES = 256 * KIB
"""Maximum bytes of queued requests that are read ahead, so that a later cancel is seen."""
UNSENT_BYTES = 1 * MIB
"""Number of unsent bytes at which a client that does not read is disconnected."""
NOTICE_BYTES = 256 * KIB
"""Number of unsent bytes above which notifications are dropped, or only the latest of each kind is kept."""
CLIENTS = 64
"""Maximum simultaneous connections of the user; all tokens together have the same limit."""
CLIENTS_OF_TOKEN = 16
"""Maximum simultaneous connections with one token."""
TOKEN_IDLE_SECONDS = 600.0
"""Seconds without a request after which a connection with a token ends; the user's own connections never
end."""
BACKLOG = 128
"""Maximum number of connections that wait to be accepted."""
REQUESTS_IN_FLIGHT = 8
"""Maximum number of a client's requests that run at the same time."""
REQUESTS_WAITING = 1000
"""Maximum number of a client's queued requests, however small."""
UNAUTHENTICATED_CLIENTS = 32
"""Maximum number of connections to the loopback port that have not sent the token yet; a further connection
closes the oldest."""
AUTH_BYTES = 4 * KIB
"""Maximum size of the first message at the loopback port: `initialize` with the token."""
ADDRESS_BYTES = 4 * KIB
"""Maximum size of the loopback port's address file."""
HALF_FRAME_SECONDS = 10.0
"""Maximum seconds for the rest of a frame after its first byte."""
SLOW_READER_SECONDS = 10.0
"""Maximum seconds for a client to read RECEIVE_BYTES."""
HTTP_CLIENTS = 64
"""Maximum simultaneous connections of one HTTP server."""
HTTP_REFUSED = 256
"""Maximum number of further connections whose requests are answered with status 503."""
HTTP_REFUSED_SECONDS = 1.0
"""Seconds within which a connection above the limit must send its request."""
HTTP_HEAD_BYTES = 16 * KIB
"""Maximum size of the head of an HTTP request."""
HTTP_REQUEST_SECONDS = 10.0
"""Maximum seconds for a whole HTTP request, from the start of its connection or the previous answer's end."""
DEADLINE_SECONDS = 600.0
"""Maximum deadline of a request in seconds."""
CALL_SECONDS = 30.0
"""Default deadline of a request in seconds."""
CLOSE_SECONDS = 1.0
"""Maximum seconds at shutdown for a client to read its last messages and for cancelled work to end."""
RECONNECT_SECONDS = 2.0
"""Maximum seconds for which a client tries to reconnect."""
RECONNECT_FIRST_SECONDS = 0.02
"""Seconds before the first attempt to reconnect."""
ERROR_CHARS = 500
"""Maximum length of an error message."""
NAME_CHARS = 80
"""Maximum length of a client's name, or of a name repeated in an error."""

# Settings
CONFIG_BYTES = 256 * KIB
"""Maximum size of the configuration file."""
STATE_BYTES = 1 * MIB
"""Maximum size of the daemon's own small files, such as the list of its vaults."""
REPORT_BYTES = 64 * MIB
"""Maximum size of a displayed measurement report."""
CONFIG_DEPTH = 32
"""Maximum number of parts in a dotted key, and of open brackets, in a configuration file."""
WEIGHT = 100.0
"""Maximum weight or factor of a ranking setting."""
DATE_PROPERTIES = 20
"""Maximum number of properties in `search.recency.properties`."""
STATUSES = 50
"""Maximum number of statuses, folders or tags in `search.currency`."""
EXPANSION_TERMS = 10
"""Maximum of `search.expansion.terms`."""
RESCAN_SECONDS = 3600.0
"""Default seconds between full scans of a vault."""
RESCAN_MINUTES = 7 * 24 * 60
"""Maximum of `daemon.rescan_minutes`."""

# Models and the semantic worker
MODEL_FILES = 1_000
"""Maximum number of files in a model's folder."""
MODEL_JSON_BYTES = 64 * MIB
"""Maximum size of a model's JSON file."""
PACKED_BYTES = 256 * MIB
"""Maximum size of a packed model's file."""
PACKED_HEAD_BYTES = 8 * MIB
"""Maximum size of the vocabulary in a packed model's file."""
MODEL_WINDOW = 254
"""Maximum number of tokens of a text that the bundled model reads, without the two special tokens."""
WORKER_MEMORY_BYTES = 4 * 1024 * MIB
"""Maximum address space of the worker process."""
GRAPH_ITEMS = 10
"""Default number of hubs, bridges, clusters or suggestions shown."""
GRAPH_NODES = 1000
"""Maximum number of notes in an overview, with the links between them."""
GRAPH_ROUTES = 20
"""Maximum number of routes between two notes."""
STRUCTURE_SECONDS = 120.0
"""Maximum seconds for computing the structure of a vault's links."""
CHILD_FRAME_BYTES = 256 * MIB
"""Maximum size of the header, and of the payload, of a message to or from a child process."""
WORKER_BACKOFF_SECONDS = (0.05, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0)
"""Pauses in seconds before restarts of a crashed worker, the first one at once; the last value repeats."""
WORKER_RETRY_SECONDS = 15.0
"""Maximum pause in seconds after another program killed the worker; after a crash, the seconds from which a
request ends the pause."""
BATCH_TEXTS = 32
"""Maximum number of texts embedded in one request to the worker."""
TAKEN_TEXTS = 4096
"""Maximum number of texts that a client may take at once to embed them."""
SERVED_TEXTS = 16
"""Default number of texts in one request to an embedding server."""
SERVED_SECONDS = 30.0
"""Default time limit in seconds of a background request to an embedding server."""
SERVED_DIMENSION = 16_384
"""Assumed maximum dimension of an embedding server's vectors before its first answer."""
SERVED_NUMBER_BYTES = 40
"""Assumed size of one number in a server's JSON answer, with its separator."""
SERVED_ANSWER_BYTES = 256 * KIB
"""Maximum bytes of a server's answer in addition to its numbers and the texts that it repeats."""
SERVED_WINDOW = 32_768
"""Maximum of ``model.window``, in tokens."""
KEY_BYTES = 4 * KIB
"""Maximum size of a file with a server's key."""
EMBED_SECONDS = 120.0
"""Deadline in seconds for embedding one batch."""
QUERY_EMBED_SECONDS = 1.5
"""Deadline in seconds for the semantic lane of a search."""
LOADING_SECONDS = 2.0
"""Maximum seconds that a search waits for a model that is being loaded, such as after the daemon's start."""
SECOND_QUERY_SECONDS = 5.0
"""Deadline in seconds for the semantic lane of a search if the model may have to be loaded first."""
RERANK_SECONDS = 0.7
"""Default deadline in seconds for reranking."""
RERANK_ANSWER_SECONDS = 0.15
"""Seconds of the reranking deadline reserved for returning the answer on a busy machine."""
DISK_FREE_BYTES = 16 * MIB
"""Free disk space below which a disk counts as full."""
PROPOSED_BYTES = 150_000 * 384 * 4
"""Size of a collection, in bytes, above which Chroma proposes the nearest vectors, if memory allows."""
VECTOR_SCAN_BYTES = 128 * MIB
"""Maximum bytes of a collection's vectors, one byte per number, that are scanned for each query. For a larger
collection, Chroma proposes candidates, or the scan uses full precision."""

# Embedding texts
HEADER_SHARE = 0.35
"""Maximum share of the model's window for title, aliases and heading path."""
LISTED_ITEMS = 50
"""Maximum number of aliases and tags considered for an embedding text, which contains the first ones that
fit."""
PLAIN_CHARS = 20_000
"""Maximum number of characters of a passage from which Markdown is stripped."""
OPENING_CHARS = 2_000
"""Number of characters at the start of a note that represent it."""

# Concepts
CONCEPT_TERMS = 4_000
"""Maximum number of terms kept with their vectors per vault: six megabytes of memory, half a minute to
embed."""
CONCEPT_CHARS = 60
"""Maximum length of a term in the concept vocabulary."""
CONCEPT_FILE_BYTES = 64 * MIB
"""Maximum size of the file of terms and vectors."""

# Following a vault
HINTS = 10_000
"""Number of pending change hints above which the whole vault is scanned instead."""
RETRY_SECONDS = 1.0
"""Seconds before a failed step is repeated."""
EMBED_RETRY_SECONDS = 10.0
"""Seconds before embedding is tried again."""
STALLED_SECONDS = 60.0
"""Seconds without progress after which commands stop waiting for the indexing."""
REFRESH_SECONDS = 5.0
"""Maximum seconds of waiting for `vaultseek index` without --wait, and for a request for an unknown note."""
LEDGER_CLOSE_SECONDS = 5.0
"""Maximum seconds to wait for an interrupted statement before its connection is closed."""
SQL_VARIABLES = 500
"""Maximum number of variables in one SQL statement."""
LOG_BYTES = 1 * MIB
"""Size in bytes at which a log is rotated."""

# Measuring ranking
JUDGEMENTS_BYTES = 256 * MIB
"""Maximum size of a file of queries or judgements."""
GRADE = 1_000_000
"""Exclusive upper limit of a relevance grade."""
MEASURED_CANDIDATES = 100
"""Number of results retrieved per query."""

# The command line
TERMINAL_COLUMNS = 80
"""Width of the output if the terminal does not report one."""
DAEMON_POLL_SECONDS = 0.02
"""Seconds between checks whether the daemon has started or stopped."""
PROGRESS_SECONDS = 0.2
"""Seconds between progress messages."""
CATCH_UP_NOTES = 1024
"""Maximum number of changed notes in one commit of the keyword index, and number of pending notes that
triggers a sync with the ledger."""
