"""Ways in: command line, editors, agents, browser."""
