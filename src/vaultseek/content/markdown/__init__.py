"""Parse notes: frontmatter, structure, links and tags, chunks. Converts text to values, and never raises."""
