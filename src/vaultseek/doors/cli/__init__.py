"""The command line, the only part of vaultseek that prints.

``main`` is the entry point of the console script, and ``commands`` has a module for each command or group.
Commands share the other modules. Modules that are slow to import are imported where they are used, so that a
search with a running daemon takes a few hundredths of a second.
"""
