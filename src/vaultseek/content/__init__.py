"""Convert bytes and texts to values: notes, queries, and other files. Independent of any index."""
