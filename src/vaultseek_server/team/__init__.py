"""Clients with tokens: their rights, limits and audit log, and their addresses."""
