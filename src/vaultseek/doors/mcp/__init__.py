"""The Model Context Protocol: a thin client of the daemon, for agents."""
