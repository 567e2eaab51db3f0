"""The socket: framing, messages, authentication, the server."""
