"""Questions about the links of a whole vault: its structure, paths between notes, links that are missing."""
