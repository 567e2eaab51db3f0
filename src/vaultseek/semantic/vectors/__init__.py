"""The vector index: exact, with exact filters."""
