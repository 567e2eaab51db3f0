"""Access to a vault's files: scan, read, compare and watch. Nothing here writes to a vault."""
