"""Clients with tokens: their rights, their limits, the audit log, and the addresses for them."""
