"""A language server that offers the daemon's features to every editor with LSP."""
