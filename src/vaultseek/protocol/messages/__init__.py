"""The protocol as types: the single source for the parameters and answer of every method.

The daemon checks requests against them, and clients can check answers. The JSON Schema for other languages
(``python -m vaultseek.protocol.messages`` prints it) and the types of the Python clients are generated from
them. ``params`` needs pydantic, ``answers`` does not; ``check`` and ``schema`` need both.
"""
