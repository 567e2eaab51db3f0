"""The write path: the steps from a changed note to the updated index.

Read the modules in this order: ``reconcile`` compares the disk with the ledger, and ``ingest`` reads changed
notes into the ledger and the link graph. ``keyword_sync`` then brings the keyword index up to date, ``embed``
the vector store, and ``concepts`` the concept vocabulary. ``open_vault`` opens all of these for one vault.
All of them write in the thread of ``writer``. ``crash_marker`` protects this thread from notes that crash the
parser, and ``status`` reports the progress.
"""
