"""Embedding models and rerankers: location, safety, choice, and counting of tokens."""
