"""Core logic: open, index and search vaults without a daemon."""
