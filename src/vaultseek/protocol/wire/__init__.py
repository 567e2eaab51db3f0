"""The socket: framing, messages, authentication and server."""
