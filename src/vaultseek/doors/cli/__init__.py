"""The command line, the only part of vaultseek that prints.

``main`` is what the console script runs, ``commands`` has a module for each command or group of commands. The
other modules are shared by the commands. Modules that are slow to import are imported where they are used, so
that a search with a running daemon takes a few hundredths of a second.
"""
