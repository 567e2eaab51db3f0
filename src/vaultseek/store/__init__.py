"""The ledger of a vault and the word and link indexes derived from it."""
