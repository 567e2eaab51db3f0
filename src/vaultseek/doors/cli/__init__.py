"""The command line interface, the only part of vaultseek that prints.

``main`` is the entry point of the console script, and ``commands`` contains a module for each command or
group. The other modules are shared by commands. Modules that are slow to import are imported where they are
used, so that a search with a running daemon takes a few hundredths of a second.
"""
