"""The vector index: exact search with exact filters."""
