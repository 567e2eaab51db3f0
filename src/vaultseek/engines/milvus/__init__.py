"""Engines that keep what is searched: the port, and Milvus. The embedded engine needs none of it."""
