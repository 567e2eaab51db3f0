"""The file system side of a vault: scan, read, compare, watch. Nothing here ever writes into a vault."""
