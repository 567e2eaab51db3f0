"""Commands and options for a server."""
