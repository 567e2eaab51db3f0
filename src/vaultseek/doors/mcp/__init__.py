"""The Model Context Protocol: a thin client of the socket for agents."""
