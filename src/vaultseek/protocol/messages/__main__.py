"""Print the JSON Schema of every message, for programs in other languages."""

import json
import sys

from vaultseek.protocol.messages.check import schemas

sys.stdout.write(f"{json.dumps(schemas(), indent=1, sort_keys=True)}\n")
