"""From bytes and texts to values: notes, queries, other files. Nothing here knows an index."""
