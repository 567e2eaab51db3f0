"""Conversion of bytes and texts to values: notes, queries, other files. Independent of any index."""
