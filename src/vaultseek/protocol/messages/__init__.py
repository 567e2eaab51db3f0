"""The protocol as types, the one source: parameters and answer of every method.

The daemon checks requests by them, and so can clients with answers. The JSON Schema for other languages
(``python -m vaultseek.protocol.messages`` prints it) and the types of the Python clients are made from them.
``params`` needs pydantic, ``answers`` does not; ``check`` and ``schema`` need both.
"""
