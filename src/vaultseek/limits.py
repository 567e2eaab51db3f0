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
TITLE_SHARE = 0.11
ALIASES_SHARE = 0.06
"""What is left of HEADER_SHARE is for the heading path."""
TAGS_SHARE = 0.1
DESCRIPTION_SHARE = 0.35
LISTED_ITEMS = 50
"""Aliases and tags that are considered for a text; the first that fit are in it."""
PLAIN_CHARS = 20_000
TOKEN_CHARS = 40
"""No token is taken to be longer when a text is cut before its tokens are counted."""
KEY_TEXT_CHARS = 16
"""With fewer letters and digits beside it, a title from the file name is in the key of the vector."""
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
DEADLINE_GRACE_SECONDS = 1.0
"""What a handler gets beyond the deadline of its request before it is cut off."""
ERROR_CHARS = 500
NAME_CHARS = 80
"""Of the name that a client gives itself, and of names from a request that an error repeats."""
KNOCKING = 8
"""So many are heard at once at the loopback port before they have shown the token."""
KNOCK_BYTES = 4 * KIB
"""Their first message, which is `initialize` with the token."""
TOKEN_LENGTH = 32
"""Bytes of chance in a token."""
ADDRESS_BYTES = 4 * KIB
LOOPBACK_SECONDS = 5.0
BACKLOG = 128
HANG_UP_POLL_SECONDS = 0.05
PARTING_SECONDS = 1.0
"""What a client gets to read the last messages, and cancelled work to end."""
ACCEPTED_AT_ONCE = 16
ACCEPT_RETRY_SECONDS = 0.1
"""Pause after an accept that failed, for example for want of file descriptors."""
SOCKET_PATH_BYTES = 103
"""Longer paths do not fit into a socket address on macOS; Linux has room for four more."""
LOCK_GLANCE_SECONDS = 0.1
"""How long the lock itself is waited for: who only looks whether it is held takes it for a moment."""
LOCK_SECONDS = 0.5
"""How long the lock on the folder is waited for: cleaners of temporary folders take it for a moment."""
RECONNECT_SECONDS = 2.0
RECONNECT_FIRST_SECONDS = 0.02
NOTICES_KEPT = 1000
"""Notifications that a client keeps until somebody asks for them."""
LAUNCH_POLL_SECONDS = 0.02
LAUNCH_LOST_SECONDS = 1.0
"""How long the daemon that won the race is looked for after ours gave way to it."""
LAUNCH_TAIL_BYTES = 4 * KIB

# Queries
QUERY_CHARS = 1000
QUERY_TERMS = 32
"""Conditions in a query: phrases, exclusions, operators, properties. QUERY_CHARS bounds plain words."""
QUERY_DEPTH = 32
SNIPPET_TERMS = 64
RESULTS = 200
LISTED_NOTES = 50_000
"""A query of filters alone names so many notes; those after the first RESULTS without a passage."""
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
CRASHES = 2
"""So often may reading a note end the daemon before it is left alone."""
READ_ATTEMPTS = 3
RACY_NANOSECONDS = 2_000_000_000
"""A file younger than this when it was read is read again: a later write could carry the same stamp."""
VANISHED_SHARE = 0.5
"""If more than this share of the notes is gone at once, the vault is taken to be unmounted."""
VANISHED_NOTES = 20

# The ledger
SQL_VARIABLES = 500
CATCH_UP_NOTES = 1024
"""The keyword index is brought up to the ledger whenever this many notes have changed."""

# Settings
CONFIG_BYTES = 1 * MIB
CONFIG_COLUMNS = 100
CONFIG_LINES = 2_000
"""In a longer configuration a wrong key is named without its line."""
RESCAN_MINUTES = 7 * 24 * 60
WEIGHT = 100.0
"""Largest weight or factor of a ranking setting."""
SHOWN_CHARS = 80
"""How much of a wrong value an error message repeats."""

# Vectors
WAITING_TEXTS = 512
OPENING_CHARS = 2_000

# Counting tokens
TOKEN_CACHE_WORDS = 100_000
TOKEN_CACHE_WORD_CHARS = 100
"""Longer words are counted each time; they are rare and would fill the table."""
TOKEN_WORD_CHARS = 1_000
"""A longer run without white space is taken apart before the tokenizer sees it."""

# Keeping a vault
LIVENESS_SECONDS = 2.0
RETRY_SECONDS = 1.0
NOTES_BEHIND = 20
"""With more notes than this still to be read, an answer says that it does not know all."""
EMBED_RETRY_SECONDS = 10.0
PROBLEMS_TOLD = 2000
MISSING_RESCAN_SECONDS = 10.0
LET_GO_SECONDS = 300.0
"""A vault that only a request named is let go when its folder has been gone for so long."""
POLL_SECONDS = 5.0
POLL_SHARE = 20
"""Where changes cannot be noticed, everything is compared this often, for a twentieth of the time at most."""

# The keyword index
SURFACE_CHARS = 1000
"""Of a longer run of characters without a space only this much is analysed."""
TERM_CHARS = 80
COMPOUND_PARTS = 32

# The command line
TERMINAL_COLUMNS = 80
TERMINAL_COLUMNS_LEAST = 40
TERMINAL_COLUMNS_MOST = 120
"""Wider than this, lines are hard to read."""
TERMINAL_LINES = 24
PREVIEW_LINES = 3
PROBLEMS_SHOWN = 5
DAEMON_START_SECONDS = 20.0
DAEMON_STOP_SECONDS = 30.0
DAEMON_POLL_SECONDS = 0.02
REFRESH_SECONDS = 5.0
"""How long `vaultseek index` without --wait, or a question about an unknown note, waits for the disk."""
CALL_SECONDS = 30.0
LOG_LINES = 50
INSPECTED_ITEMS = 30
"""Of each kind, headings, links, tasks and so on, `vaultseek inspect` shows a person so many."""
SERVICE_MANAGER_SECONDS = 60.0
"""What systemctl or launchctl may take."""
COMPLETION_SECONDS = 0.3
"""What the daemon may take to answer a shell that completes a word; later than this, nothing is offered."""
REBIND_SECONDS = 5.0
"""How long a daemon whose socket file is gone is given to make it again."""
PROGRESS_LINE_SECONDS = 5.0
"""How often progress is printed where there is no terminal to draw a bar on."""

# Resolving links
LINK_CANDIDATES = 20
"""Of the other files that an ambiguous link could mean, so many are kept."""
STEMS = 20_000
LEXICON_SURFACES = 100_000
"""The analysis of this many distinct words is remembered."""
MERGE_POSITIONS = 250_000
"""Positions of words that are in memory at once while segments of the keyword index are merged."""
PROGRESS_SECONDS = 0.2
HASHING_WINDOW = 254

# The daemon
STOP_SECONDS = 5.0
SOCKET_CHECK_SECONDS = 1.0
WATCHDOG_SHARE = 0.4
"""After this share of what the service manager's watchdog allows it is told that the daemon lives."""
WATCHDOG_SLOWEST_SECONDS = 10.0
"""But no less often than this, so that the status it shows is no older."""
READY_SECONDS = 10.0
"""How long the daemon waits for its own socket to answer before it says why it is not ready."""

# The semantic worker and its vectors
WORKER_HEADER_BYTES = 32 * MIB
WORKER_PAYLOAD_BYTES = 256 * MIB
WORKER_QUERY_SECONDS = 10.0
"""A query, or the embedding of one, that runs longer in the worker counts as hung: the worker is killed."""
WORKER_STORE_SECONDS = 120.0
"""The same for opening, writing and dropping a vector store."""
RERANK_SECONDS = 0.7
RERANKED_NOTES = 100
WORKER_STOP_SECONDS = 3.0
WORKER_STABLE_SECONDS = 60.0
"""A worker that was ready for this long has earned a clean record: the breaker counts from zero again."""
WORKER_STORE_DEATHS = 2
"""So many deaths of the worker at the same work on one store, and the store counts as damaged."""
WORKER_WATCH_SECONDS = 0.25
WORKER_PARKED_TEXTS = 10_000
WORKER_THREADS = 8

EMBED_TOKENS = 2048
"""Texts are put through the model together up to this many tokens, padding included."""
HASHING_DIMENSION = 64
MODEL_FILES = 1_000
MODEL_JSON_BYTES = 64 * MIB

VECTOR_FRAME = 1_000
"""Vectors a frame to the worker."""
VECTOR_WRITE = 64
"""Vectors a write to Chroma, which holds the interpreter lock meanwhile and keeps queries waiting."""
VECTOR_IDS = 500
VECTOR_EXACT = 250
"""Up to this many vectors left by a filter are scored one by one instead of searched for."""
VECTOR_EXACT_COST = 3
"""To score one vector exactly takes as long as to find this many more by a search."""
VECTOR_PAGE = 10_000
"""Vectors whose notes are read at once when a store is opened."""
VECTOR_PASSAGES = 5
"""Passages a note that one search returns."""
VECTOR_PROBES = 16
VECTOR_FREE_BYTES = 16 * MIB

# Chunking
JOIN_SHARE = 0.6
"""Sibling sections are joined up to this share of the model's window."""
UNCOUNTED_CHARS = 64 * KIB
"""A longer block is not counted as a whole; it is taken apart first."""
SHORT_PARTS = 8
"""Lines and sentences of fewer characters than this part of a chunk's tokens are cut together."""
CUT_GUESSES = 24
CHUNK_ID_BYTES = 10
MERGE_FACTOR = 8
"""So many segments of one size become one."""
MERGE_INLINE_NOTES = 512
"""Merges of so many notes in all take milliseconds and are done with the change that made them due."""
KEYWORD_TERMS = 64
PREFIX_TERMS = 64
PREFIX_WORDS = 8
"""A query may ask for so many beginnings of words, each of which stands for so many terms at most."""
NEAR_TERMS = 8
"""A word that the vault does not contain is stood in for by so many at most, of each kind."""
NEAR_WORDS = 8
"""For so many words of a query words near them are looked for."""
PASSAGES = 3

# Answers
PREVIEW_CHARS = 240
FIRST_LOOK_SECONDS = 0.8

# Inspecting
MODEL_WINDOW = 254
"""Tokens that the bundled model reads, without the two marks that it adds."""

# Judging the language
LANGUAGE_NOTES = 200
"""Notes whose openings tell the language of a vault."""
LANGUAGE_GROWTH = 4
"""A vault that has grown this many times is judged again."""

# Asking about notes
CANDIDATES_NAMED = 10
"""So many notes are named when a name could mean several."""
NOTE_TEXT_CHARS = 1_000_000
LINE_CHARS = 240
"""Of a line that a link or a mention stands in, so much is shown."""
NEIGHBOUR_DEPTH = 5
NEIGHBOUR_EDGES = 2_000
VALUES_SHOWN = 10
"""Of a property's values, the commonest."""
RELATED_POOL = 100
"""Notes that each lane may give for the question what is like a note."""
RELATED_HUB = 200
"""A note with more links than this says nothing about what it is linked with."""
RELATED_WORDS = 60

LISTED_ITEMS_MOST = 10_000
"""Links, tags and notes in one list."""
CHANGED_TOLD = 1_000
"""Changed notes that one notification names."""

# Completing as one types
COMPLETION_FUZZY = 2_000
"""So many names that hold the letters are looked through for their order."""
COMPLETION_RECENT = 500
"""So many changed notes are kept beside the names in order before these are put in order again."""
COMPLETIONS = 100

# Concepts
CONCEPT_TERMS = 4_000
"""Terms of a vault that are kept with their vectors: six megabytes of memory, half a minute to embed."""
CONCEPT_NAMES = 2_000
"""Tags, titles and aliases among them, unless words leave more room."""
CONCEPT_WORDS = 5
CONCEPT_CHARS = 60
CONCEPT_LEAST_CHARS = 3
CONCEPT_NOTES_LEAST = 2
CONCEPT_NOTES_SHARE = 0.1
"""A word of more notes than this share tells nothing."""
CONCEPT_FILE_BYTES = 64 * MIB
CONCEPT_QUIET_SECONDS = 2.0
"""Changes are collected for so long before it is asked whether there are enough of them."""
CONCEPT_CHANGED_SHARE = 0.05
CONCEPT_REFRESH_SECONDS = 600.0
"""Fewer changed notes than that share are taken in after so long."""
EXPANSION_TERMS = 10

# Measuring
JUDGEMENTS_BYTES = 256 * MIB
GRADE = 1_000_000
MEASURED_CANDIDATES = 100
"""Results that are asked for when ranking is measured."""
BOOTSTRAP_SAMPLES = 2_000

# Saying why
WHY_DEPTH = 100_000
WHY_DEPTH_SEMANTIC = 500
"""So far down a lane a note's rank is looked for."""

# Answering agents
AGENT_TOKENS = 2_000
AGENT_TOKENS_LEAST = 200
AGENT_TOKENS_MOST = 20_000
TOKEN_BYTES = 3
"""Bytes of UTF-8 that are taken for a token of an unknown model: rather too few, so that budgets hold."""
AGENT_NAMES = 10
"""Tags and aliases of a note that are told."""
AGENT_LINKS = 200
AGENT_RESOURCES = 50
"""Notes that are listed as resources: the last changed."""
PARENT_POLL_SECONDS = 1.0

# Looking for what is wrong
DOCTOR_SECONDS = 5.0
"""How long the doctor waits for a daemon's answer."""
DOCTOR_WORKER_SECONDS = 60.0
DISK_LOW_BYTES = 500 * MIB
WATCHES_ADVISED = 1_048_576
