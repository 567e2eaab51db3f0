"""Text of files that are no Markdown: one extractor for each kind, run in a process of its own."""
