"""PostgreSQL with pgvector as an engine: one schema per shard, with everything that a search reads."""
