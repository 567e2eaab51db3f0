"""The protocol as models: parameters and answer of every method, as JSON Schema and to check messages by.

The daemon checks requests by these models, and so can clients with answers. ``python -m vaultseek.messages``
writes what is made from them: ``schema.json`` for programs in other languages, and the typed methods of the
Python clients. The models of answers take long to make, so a program that only reads requests never loads
them: import ``params`` for these, and ``check`` for the rest.
"""
