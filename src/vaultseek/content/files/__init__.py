"""The file system of a vault: scan, read, compare, watch. Nothing here writes to a vault."""
