"""Text extraction from files other than Markdown: one extractor per kind, run in a separate process."""
