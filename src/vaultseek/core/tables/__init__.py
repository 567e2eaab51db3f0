"""Tables: evaluate Obsidian's Bases over the index, and tabulate the notes found by a query."""
