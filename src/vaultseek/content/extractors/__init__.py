"""Extract text from files other than Markdown: one extractor for each kind of file, run in a separate
process.
"""
