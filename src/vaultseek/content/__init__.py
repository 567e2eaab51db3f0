"""Convert bytes and text to values: notes, queries, and other files. Independent of any index."""
