"""Tables over notes: Obsidian's Bases, evaluated over the index, and tables of notes that a query finds."""
