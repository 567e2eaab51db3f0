"""User interfaces: command line, editors, agents and browser."""
