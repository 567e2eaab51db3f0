"""The server of a team: who may see what, how much of it, what is written down, and how well it is."""
