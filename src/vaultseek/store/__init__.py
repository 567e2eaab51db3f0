"""The ledger of a vault, and the indexes that follow it by word and by link."""
