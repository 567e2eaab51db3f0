"""Embedding models and rerankers: finding, checking and choosing them, and counting tokens."""
