"""Parsing a note: frontmatter, structure, links and tags, chunks. Text in, values out; never raises."""
