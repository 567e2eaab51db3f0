"""docs/models.md names exactly the models that ``vaultseek models list`` suggests."""

import re
from pathlib import Path

from vaultseek.semantic.models.catalogue import SUGGESTED

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")


def test_the_table_is_the_catalogue() -> None:
    assert dict(re.findall(r"^\| `(\S+/\S+)` \| (.+) \|$", PAGE, re.MULTILINE)) == SUGGESTED
