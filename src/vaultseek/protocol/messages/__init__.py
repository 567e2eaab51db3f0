"""Types of the protocol: the single source for every method's parameters and answer.

The daemon validates requests against these types, and clients can validate answers. The JSON Schema for other
languages (``python -m vaultseek.protocol.messages`` prints it) and the types of the Python clients are
generated from these types. The modules ``params`` and ``check`` need pydantic; ``answers`` does not.
"""
