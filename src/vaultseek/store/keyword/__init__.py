"""The keyword index: BM25F over posting arrays, in Whoosh segments."""
