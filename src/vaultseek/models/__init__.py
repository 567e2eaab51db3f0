"""Embedding and rerank models, all local."""
