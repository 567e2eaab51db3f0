"""Limits in bytes, characters, counts, depths and seconds.

This module contains the bounds against hostile input and the numbers shared by several modules. Other tuning
constants are at the top of the module that uses them.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# Notes
NOTE_READ_BYTES = 8 * MIB
"""Maximum size in bytes of a file whose content is read, unless its kind of file has its own limit."""
NOTE_PARSE_BYTES = 2 * MIB
"""Maximum size in bytes of a parsed note; larger notes are indexed by name and path only, and reported as a
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
"""Maximum number of characters in a note that can open or hide a link or tag; text after the last of them is
indexed as plain text."""
OPEN_BRACKETS = 10_000
"""Maximum number of unmatched opening brackets in one block; if there are more, the outer half counts as
plain text."""
TITLE_CHARS = 500
"""Maximum length of a title taken from a heading, in characters."""
READER_NOTE_SECONDS = 60.0
"""Maximum processor time in seconds that a reader process may spend on one note."""
READER_JOB_BYTES = 4 * MIB
"""Maximum total size of the notes in one batch for a reader process, in bytes."""
READER_MEMORY_BYTES = 2048 * MIB
"""Maximum address space of a reader process, in bytes."""

# Other kinds of files
CANVAS_BYTES = 8 * MIB
"""Maximum size of a canvas, in bytes."""
CANVAS_NODES = 10_000
"""Maximum number of nodes, and of edges, read from a canvas."""
CANVAS_GROUPS = 500
"""Maximum number of groups read from a canvas."""
DRAWING_BYTES = 32 * MIB
"""Maximum size in bytes of a drawing, including embedded pictures."""
DRAWING_ELEMENTS = 50_000
"""Maximum number of elements read from a drawing."""
TEXT_BYTES = 2 * MIB
"""Maximum size of a plain text or Org file, in bytes."""
PAGE_BYTES = 8 * MIB
"""Maximum size of an HTML file, in bytes."""
SESSION_BYTES = 64 * MIB
"""Maximum size in bytes of a coding agent's log; most of it is tool output, which is left out."""
PDF_BYTES = 128 * MIB
"""Maximum size of a PDF, in bytes."""
PDF_PAGES = 3_000
"""Maximum number of pages read from a PDF."""
PDF_OUTLINE = 5_000
"""Maximum number of outline entries read from a PDF."""
OCR_PAGES = 100
"""Maximum number of scanned pages read from a PDF by OCR."""
OCR_PIXELS = 40_000_000
"""Maximum number of pixels in a picture read by OCR."""
IMAGE_BYTES = 32 * MIB
"""Maximum size of a picture, in bytes."""
EXTRACTED_CHARS = 4 * MIB
"""Maximum number of characters extracted from one file; the rest is left out."""
EXTRACTION_SECONDS = 30.0
"""Maximum processor time in seconds for reading a file other than Markdown."""
OCR_SECONDS = 600.0
"""Maximum processor time in seconds for reading a file with OCR."""
EXTRACTION_MEMORY_BYTES = 1536 * MIB
"""Maximum address space in bytes of the process that reads files other than Markdown."""
OCR_MEMORY_BYTES = 4096 * MIB
"""Maximum address space in bytes of the process that reads files with OCR."""
EXTRACTION_IDLE_SECONDS = 30.0
"""Number of idle seconds after which the process that reads files other than Markdown exits."""
EXTRACTION_RETRY_SECONDS = 5.0
"""Minimum number of seconds before a file is tried again after its reader process died."""

# Frontmatter
FRONTMATTER_BYTES = 64 * KIB
"""Maximum size of a frontmatter block, in bytes."""
FRONTMATTER_DEPTH = 16
"""Maximum nesting depth of values in frontmatter."""
FRONTMATTER_KEYS = 1000
"""Maximum number of keys in one frontmatter block, including nested ones."""
FRONTMATTER_EXPANDED = 256 * KIB
"""Maximum number of characters and values in frontmatter once aliases are expanded (against "billion
laughs")."""

# Obsidian's settings in a vault
FOLDER_NAMES = 5_000
"""Maximum number of file names, from a folder or from a whole vault, that are read to find out whether dates
begin with the day or the month."""
APP_SETTINGS_BYTES = 1 * MIB
"""Maximum size in bytes of an Obsidian settings file; larger files are ignored."""
EXCLUDED_FILES_RULES = 200
"""Maximum number of "Excluded files" rules read from one vault."""
EXCLUDED_RULE_SECONDS = 0.01
"""Maximum number of seconds for matching a path against a single regular expression."""
EXCLUDED_RULES_SECONDS = 1.0
"""Maximum total number of seconds for matching rules in one scan; after that, slow rules are dropped."""

# Tokens and terms
TOKEN_WORD_CHARS = 1_000
"""Maximum length in characters of a run without white space that the tokenizer gets in one piece; longer runs
are split."""
TOKEN_CHARS = 40
"""Assumed maximum number of characters in a token when text is cut before its tokens are counted."""
COMPOUND_CHARS = 1000
"""Maximum length in characters of a token that the keyword index analyses."""
TERM_CHARS = 80
"""Maximum length of a term in the keyword index, in characters."""
COMPOUND_PARTS = 32
"""Maximum number of parts indexed from one compound word."""

# Regular expressions of queries, formulas and vaults
PATTERN_CHARS = 10_000
"""Maximum number of characters in a pattern once its counted repeats are written out."""
PATTERN_COMPILE_SECONDS = 2.0
"""Maximum processor time in seconds for compiling a long pattern."""
PATTERN_MEMORY_BYTES = 1024 * MIB
"""Maximum address space in bytes of the process that matches long patterns and long texts."""
PATTERN_IDLE_SECONDS = 30.0
"""Number of idle seconds after which the process that matches long patterns and long texts exits."""

# Queries
QUERY_CHARS = 1000
"""Maximum length of a query, in characters."""
PASSAGE_CHARS = 10_000
"""Maximum length in characters of text used instead of a query."""
QUERY_TERMS = 32
"""Maximum number of conditions in a query: phrases, exclusions, operators and properties. Plain words are
limited by QUERY_CHARS."""
QUERY_DEPTH = 32
"""Maximum nesting depth of parentheses in a query."""
EXPRESSION_SECONDS = 0.25
"""Maximum processor time in seconds for matching one text against a regular expression from a query."""
MATCHING_SECONDS = 1.5
"""Maximum processor time in seconds for all matching of regular expressions in one request."""
EXPRESSIONS_SECONDS = 10.0
"""Maximum processor time in seconds for reading a vault's notes and matching regular expressions against
them; the request's deadline may end this sooner."""
KEYWORD_TERMS = 64
"""Maximum number of query terms that the keyword index scores."""
TERM_CACHE_BYTES = 32 * MIB
"""Smallest size limit, in bytes, for a vault's cache of term scores and occurrences; TERM_CACHE_NOTE_BYTES
may raise it."""
TERM_CACHE_NOTE_BYTES = 128
"""Bytes of cache per note for term scores and occurrences. For more than 262,144 notes, the total is above
TERM_CACHE_BYTES."""

# Tables
BASE_BYTES = 1 * MIB
"""Maximum size in bytes of a base, whether it is a file or a block in a note."""
BASE_DEPTH = 40
"""Maximum nesting depth of a base's YAML."""
BASE_KEYS = 10_000
"""Maximum number of keys in a base's YAML, including nested ones."""
BASE_VIEWS = 200
"""Maximum number of views read from one base."""
BASES_IN_NOTE = 50
"""Maximum number of bases that one note may contain or embed."""
FORMULA_CHARS = 10_000
"""Maximum length of a filter or formula, in characters."""
FORMULA_DEPTH = 60
"""Maximum nesting depth of a filter or formula."""
FORMULA_VALUE_CHARS = 500_000
"""Maximum number of characters and elements in a value created by a formula."""
FORMULA_PATTERN_SECONDS = 0.1
"""Maximum processor time in seconds for matching one text against a regular expression from a formula."""
TABLE_SECONDS = 20.0
"""Maximum number of seconds for computing one table."""
TABLE_VALUES_CHARS = 64 * MIB
"""Maximum total number of characters and elements in the values created by one table's formulas."""
TABLE_COLUMNS = 100
"""Maximum number of columns in one table."""
TABLE_CHARS = 8 * MIB
"""Maximum number of characters in all table cells of one answer; further rows are left out, and the answer
reports that."""
TABLE_PROBLEMS = 20
"""Maximum number of problems reported for one table."""

# Results
SHOWN_RESULTS = 10
"""Default number of results in the answer to a search."""
RESULTS = 200
"""Maximum number of results in the answer to a search."""
LISTED_NOTES = 50_000
"""Maximum number of notes listed for a query that consists of filters only; notes after the first RESULTS
have no passage."""
NOTE_PASSAGES = 20
"""Maximum number of passages per note in the answer to a search."""
RERANKED_NOTES = 100
"""Maximum number of results that the cross-encoder may rerank."""
PREVIEW_CHARS = 240
"""Maximum length of a result's preview, in characters."""
LINE_CHARS = 240
"""Maximum length in characters of the line of text shown with a link or a mention."""
LISTED_ITEMS_MOST = 10_000
"""Maximum number of links, tags and notes in one list."""
COMPLETIONS = 100
"""Maximum number of completions in one response."""
CANDIDATES_NAMED = 10
"""Maximum number of notes listed in the error for an ambiguous name."""
NOTE_TEXT_CHARS = 1_000_000
"""Maximum number of characters of a note's text in one response."""
NEIGHBOUR_DEPTH = 5
"""Maximum distance, in links, between a note and the notes in its neighbourhood."""
NEIGHBOUR_EDGES = 2_000
"""Maximum number of links returned for the neighbourhood of a note."""
AGENT_TOKENS_LEAST, AGENT_TOKENS, AGENT_TOKENS_MOST = 200, 2_000, 20_000
"""Minimum, default and maximum token budget for an answer to an agent."""

# The wire
FRAME_BYTES = 256 * KIB
"""Maximum size in bytes of a request; responses may be larger, see ANSWER_BYTES."""
ANSWER_BYTES = 16 * MIB
"""Maximum size of a response, in bytes."""
HEADER_BYTES = 1 * KIB
"""Maximum size of a frame's header, in bytes."""
JSON_DEPTH = 32
"""Maximum nesting depth of JSON in a request."""
INTEGER_BITS = 64
"""Maximum size in bits of integers in a request."""
RECEIVE_BYTES = 64 * KIB
"""Number of bytes read or written at once; a client must read this many within SLOW_READER_SECONDS."""
READ_AHEAD_BYTES = 256 * KIB
"""Maximum size in bytes of queued requests that are read ahead, so that a cancellation sent after them is
seen."""
UNSENT_BYTES = 1 * MIB
"""Number of unsent bytes at which a client that has stopped reading is disconnected."""
NOTICE_BYTES = 256 * KIB
"""Number of unsent bytes above which notifications are dropped, or only the latest of each kind is kept."""
CLIENTS = 64
"""Maximum number of simultaneous connections without a token; also the maximum for all tokens together."""
CLIENTS_OF_TOKEN = 16
"""Maximum number of simultaneous connections with one token."""
TOKEN_IDLE_SECONDS = 600.0
"""Number of seconds without a request after which a connection with a token is closed; other connections stay
open."""
BACKLOG = 128
"""Maximum number of connections waiting to be accepted."""
REQUESTS_IN_FLIGHT = 8
"""Maximum number of requests from one client that run at the same time."""
REQUESTS_WAITING = 1000
"""Maximum number of queued requests from one client, however small they are."""
UNAUTHENTICATED_CLIENTS = 32
"""Maximum number of connections to the loopback port that have not sent the token yet; one more connection
closes the oldest."""
AUTH_BYTES = 4 * KIB
"""Maximum size in bytes of the first message on the loopback port: `initialize` with the token."""
ADDRESS_BYTES = 4 * KIB
"""Maximum size in bytes of the file with the loopback port's address."""
HALF_FRAME_SECONDS = 10.0
"""Maximum number of seconds for receiving the rest of a frame after its first byte."""
SLOW_READER_SECONDS = 10.0
"""Maximum number of seconds for a client to read RECEIVE_BYTES bytes."""
HTTP_CLIENTS = 64
"""Maximum number of simultaneous connections to one HTTP server."""
HTTP_REFUSED = 256
"""Maximum number of connections beyond HTTP_CLIENTS whose requests are answered with status 503."""
HTTP_REFUSED_SECONDS = 1.0
"""Maximum number of seconds for a connection beyond HTTP_CLIENTS to send its request."""
HTTP_HEAD_BYTES = 16 * KIB
"""Maximum size of an HTTP request's head, in bytes."""
HTTP_REQUEST_SECONDS = 10.0
"""Maximum number of seconds for a complete HTTP request to arrive, counted from the start of its connection
or the end of the previous answer."""
DEADLINE_SECONDS = 600.0
"""Maximum deadline for a request, in seconds."""
CALL_SECONDS = 30.0
"""Default deadline for a request, in seconds."""
CLOSE_SECONDS = 1.0
"""Maximum number of seconds that shutdown waits for clients to read their last messages and for cancelled
work to end."""
RECONNECT_SECONDS = 2.0
"""Maximum time, in seconds, during which a client tries to reconnect."""
RECONNECT_FIRST_SECONDS = 0.02
"""Number of seconds before the first attempt to reconnect."""
ERROR_CHARS = 500
"""Maximum length of an error message, in characters."""
NAME_CHARS = 80
"""Maximum length in characters of a client's name, or of a name repeated in an error."""

# Settings
CONFIG_BYTES = 256 * KIB
"""Maximum size of the configuration file, in bytes."""
STATE_BYTES = 1 * MIB
"""Maximum size in bytes of each of the daemon's own small files, such as the list of its vaults."""
REPORT_BYTES = 64 * MIB
"""Maximum size in bytes of a measurement report that can be displayed."""
CONFIG_DEPTH = 32
"""Maximum number of parts in a dotted key, and of unclosed brackets, in a configuration file."""
WEIGHT = 100.0
"""Maximum value of a weight or factor in the ranking settings."""
DATE_PROPERTIES = 20
"""Maximum number of properties in `search.recency.properties`."""
STATUSES = 50
"""Maximum number of statuses, of folders and of tags in `search.currency`."""
EXPANSION_TERMS = 10
"""Maximum value of `search.expansion.terms`."""
RESCAN_SECONDS = 3600.0
"""Default number of seconds between full scans of a vault."""
RESCAN_MINUTES = 7 * 24 * 60
"""Maximum value of `daemon.rescan_minutes`."""

# Models and the semantic worker
MODEL_FILES = 1_000
"""Maximum number of files in a model's folder."""
MODEL_JSON_BYTES = 64 * MIB
"""Maximum size of a model's JSON file, in bytes."""
PACKED_BYTES = 256 * MIB
"""Maximum size of a packed model's file, in bytes."""
PACKED_HEAD_BYTES = 8 * MIB
"""Maximum size of the vocabulary in a packed model's file, in bytes."""
MODEL_WINDOW = 254
"""Maximum number of tokens of text that the bundled model reads, without the two special tokens."""
WORKER_MEMORY_BYTES = 4 * 1024 * MIB
"""Maximum address space of the worker process, in bytes."""
GRAPH_ITEMS = 10
"""Default number of hubs, bridges, clusters or suggestions shown."""
GRAPH_NODES = 1000
"""Maximum number of notes in an overview that shows notes and the links between them."""
GRAPH_ROUTES = 20
"""Maximum number of routes between two notes."""
STRUCTURE_SECONDS = 120.0
"""Maximum number of seconds for computing the structure of a vault's links."""
CHILD_FRAME_BYTES = 256 * MIB
"""Maximum size in bytes of the header, and also of the payload, of a message to or from a child process."""
WORKER_BACKOFF_SECONDS = (0.05, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0)
"""Number of seconds to wait before each restart of a crashed worker; the last value repeats."""
WORKER_RETRY_SECONDS = 15.0
"""Maximum pause in seconds before the restart of a worker that another program killed. After a crash, the
pause may be longer, but a request ends it once this many seconds have passed."""
BATCH_TEXTS = 32
"""Maximum number of texts embedded in one request to the worker."""
TAKEN_TEXTS = 4096
"""Maximum number of texts that a client may fetch in one request in order to embed them."""
SERVED_TEXTS = 16
"""Default number of texts in one request to an embedding server."""
SERVED_SECONDS = 30.0
"""Default time limit, in seconds, for a background request to an embedding server."""
SERVED_DIMENSION = 16_384
"""Assumed maximum dimension of an embedding server's vectors until its first answer arrives."""
SERVED_NUMBER_BYTES = 40
"""Assumed size in bytes of one number in a server's JSON answer, with its separator."""
SERVED_ANSWER_BYTES = 256 * KIB
"""Maximum size in bytes of a server's answer, not counting numbers and repeated texts."""
SERVED_WINDOW = 32_768
"""Maximum value of ``model.window``, in tokens."""
KEY_BYTES = 4 * KIB
"""Maximum size in bytes of a file that contains a server's key."""
EMBED_SECONDS = 120.0
"""Deadline, in seconds, for embedding one batch."""
QUERY_EMBED_SECONDS = 1.5
"""Deadline, in seconds, for the semantic part of a search."""
LOADING_SECONDS = 2.0
"""Maximum number of seconds that a search waits for a model that is being loaded, for example after the
daemon's start."""
SECOND_QUERY_SECONDS = 5.0
"""Deadline, in seconds, for the semantic part of a search if the model may have to be loaded first."""
RERANK_SECONDS = 0.7
"""Default deadline, in seconds, for reranking."""
RERANK_ANSWER_SECONDS = 0.15
"""Number of seconds, out of the reranking deadline, reserved for returning the answer on a busy machine."""
DISK_FREE_BYTES = 16 * MIB
"""Free disk space in bytes below which a disk counts as full."""
PROPOSED_BYTES = 150_000 * 384 * 4
"""Minimum size of a vector collection, in bytes, for Chroma to propose its nearest vectors, if memory
allows."""
VECTOR_SCAN_BYTES = 128 * MIB
"""Maximum size in bytes of a collection's vectors, stored as eight-bit integers, for a query to scan all of
them. For a larger collection, Chroma proposes candidates, or the vectors are scanned in full precision."""

# Embedding texts
HEADER_SHARE = 0.35
"""Maximum share of the model's window for title, aliases and heading path together."""
LISTED_ITEMS = 50
"""Maximum number of aliases and tags considered for an embedding text; the text contains the first ones that
fit."""
PLAIN_CHARS = 20_000
"""Maximum number of characters of a passage from which Markdown is stripped."""
OPENING_CHARS = 2_000
"""Number of characters at the start of a note that represent the whole note."""

# Concepts
CONCEPT_TERMS = 4_000
"""Maximum number of terms per vault that are kept with their vectors; 4,000 terms use six megabytes of
memory, and embedding them takes half a minute."""
CONCEPT_CHARS = 60
"""Maximum length of a term in the concept vocabulary, in characters."""
CONCEPT_FILE_BYTES = 64 * MIB
"""Maximum size in bytes of the file that stores the concept terms and their vectors."""

# Following a vault
HINTS = 10_000
"""Maximum number of pending change hints; above it, the whole vault is scanned instead."""
RETRY_SECONDS = 1.0
"""Number of seconds before a failed step is repeated."""
EMBED_RETRY_SECONDS = 10.0
"""Number of seconds before embedding is tried again after a failure."""
STALLED_SECONDS = 60.0
"""Number of seconds without progress after which commands stop waiting for indexing."""
REFRESH_SECONDS = 5.0
"""Maximum number of seconds that `vaultseek index` without --wait, or a request for an unknown note, waits
for the vault to be read."""
LEDGER_CLOSE_SECONDS = 5.0
"""Maximum number of seconds to wait for an interrupted SQL statement before its connection is closed."""
SQL_VARIABLES = 500
"""Maximum number of variables in one SQL statement."""
LOG_BYTES = 1 * MIB
"""Size of a log, in bytes, at which it is rotated."""

# Measuring ranking
JUDGEMENTS_BYTES = 256 * MIB
"""Maximum size in bytes of a file with queries or judgements."""
GRADE = 1_000_000
"""Exclusive upper limit for a relevance grade."""
MEASURED_CANDIDATES = 100
"""Number of results retrieved for each query when ranking is measured."""

# The command line
TERMINAL_COLUMNS = 80
"""Width of the output if the terminal does not report one."""
DAEMON_POLL_SECONDS = 0.02
"""Number of seconds between checks of whether the daemon has started or stopped."""
PROGRESS_SECONDS = 0.2
"""Number of seconds between progress messages."""
CATCH_UP_NOTES = 1024
"""Maximum number of changed notes in one commit of the keyword index. A sync with the ledger is triggered
when this many notes are pending."""
