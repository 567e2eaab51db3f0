"""PostgreSQL with pgvector as an engine: a schema for each shard, with all that a search reads."""
