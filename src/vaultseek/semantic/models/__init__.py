"""Embedding models and rerankers, all local: where they are, whether they are safe, and running them."""
