"""Keyword index: BM25F over posting arrays, in Whoosh segments."""
