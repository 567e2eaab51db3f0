"""A language server: what the daemon knows, for every editor that speaks LSP."""
