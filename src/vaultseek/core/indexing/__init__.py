"""The write path: every step from a changed note to an updated index.

Read the modules in this order: ``reconcile`` compares the disk with the ledger, and ``ingest`` reads changed
notes into the ledger and the link graph. ``keyword_sync`` then updates the keyword index, ``embed`` the
vector store, and ``concepts`` the concept vocabulary. ``open_vault`` opens all of these stores for one vault.

All writing modules run in the thread of ``writer``. ``crash_marker`` protects this thread from notes that
crash the parser, and ``status`` reports the progress.
"""
