"""The socket: framing, messages, who may speak, the server."""
