"""The doors: command line, editors, agents, browser."""
