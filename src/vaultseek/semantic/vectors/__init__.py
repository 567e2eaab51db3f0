"""Vector index: exact search with exact filters."""
