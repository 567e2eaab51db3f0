"""The write path: how a changed note gets into the index.

Read it in this order: ``reconcile`` compares the disk with the ledger, ``ingest`` reads changed notes into
the ledger and the link graph, ``keyword_sync`` brings the keyword index up to the ledger, ``embed`` the
vector store, and ``concepts`` the concept vocabulary. ``open_vault`` opens all of these for one vault.
``writer`` is the thread that they write in, ``crash_marker`` protects it from notes that crash the parser,
and ``status`` reports the progress.
"""
