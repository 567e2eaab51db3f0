"""Writes the schema of the protocol into the file that is shipped."""

from __future__ import annotations

import json

from vaultseek.messages import SCHEMA_FILE, schemas

SCHEMA_FILE.write_text(f"{json.dumps(schemas(), indent=1, sort_keys=True)}\n", encoding="utf-8")
