"""The ledger of a vault, and the keyword index and link graph derived from the ledger."""
