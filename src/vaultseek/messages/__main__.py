"""Writes the files that are made from the models: the schema and the methods of the Python clients."""

from __future__ import annotations

import json

from vaultseek.messages.check import SCHEMA_FILE, schemas
from vaultseek.messages.python_client import sources

SCHEMA_FILE.write_text(f"{json.dumps(schemas(), indent=1, sort_keys=True)}\n", encoding="utf-8")
for file, text in sources().items():
    file.write_text(text, encoding="utf-8")
