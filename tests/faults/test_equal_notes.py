"""Notes that match equally: which are found, and in which order, must not depend on the index's history."""

import random

import pytest

from fresh_index import IndexHere, fresh_answers
from worlds import write_files

EQUAL = 300
QUERIES = ("pump", "valve seal", "rust on the anchor")


@pytest.mark.fault("H9", "Invariant 3")
@pytest.mark.parametrize("seed", range(3))
def test_h9_which_of_many_equal_notes_are_found_does_not_depend_on_history(vault, tmp_path, seed):
    chance = random.Random(seed)
    same = {f"{number:03}.md": "# Pump\n\nA pump and a valve seal.\n" for number in range(EQUAL)}
    paths = chance.sample(sorted(same), EQUAL)
    root = vault({"anchor.md": "# Anchor\n\nRust on the anchor, see [[007]].\n"})
    (tmp_path / "index").mkdir()
    index = IndexHere(root, tmp_path / "index")
    for start in range(0, EQUAL, 75):
        write_files(root, {path: same[path] for path in paths[start : start + 75]})
        index.update()
    for path in paths[::9]:
        (root / path).unlink()
    index.update()
    write_files(root, {path: same[path] for path in paths[::18]})
    index.update()
    answers = index.answers(QUERIES)
    index.close()
    assert answers == fresh_answers(root, tmp_path / "fresh", QUERIES)
