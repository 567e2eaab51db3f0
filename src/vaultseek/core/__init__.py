"""The library: open a vault, index it, search it. It needs no daemon."""
