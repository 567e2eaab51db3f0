"""A language server: the daemon's features, for every editor that speaks LSP."""
