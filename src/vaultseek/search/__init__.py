"""The way of a query: parse, filter, retrieve, score, fuse, rerank, respond."""
