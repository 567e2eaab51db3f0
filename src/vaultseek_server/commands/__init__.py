"""Commands and options of a server."""
