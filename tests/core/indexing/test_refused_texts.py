"""A text without a vector is retried: after a start, a few times later, and whenever its note changes.

Either a server refused the text, or the worker crashed on it; another program may have caused the crash.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semantic_here import WorkerHere
from vaultseek.core.indexing import unembedded
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import REFUSED_TRIES, EmbeddingSpec
from vaultseek.semantic.models.catalogue import find_model

NOTES = {"bad.md": "# Bad\n\nA poisonous passage.\n\n## More\n\nAnother one.", "good.md": "# Good\n\nFine."}


class Refusing(WorkerHere):
    """A worker whose server refuses texts that contain one word; ``asked`` records the texts it received."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = True
        self.asked: list[str] = []

    async def embed(self, texts: Any, **more: Any) -> Any:
        self.asked += texts
        matrix = await super().embed(texts, **more)
        matrix[[self.refuses and "poisonous" in text for text in texts]] = np.nan
        return matrix


@pytest.fixture(params=["served-of-a-test", "local-of-a-test"])
def start(
    vault: Callable[..., Path], tmp_path: Path, request: Any
) -> tuple[Refusing, Path, Callable[[], Any]]:
    """A server, the folder of notes, and a function that starts the daemon and returns problems and stored
    vectors."""
    root, worker = vault(NOTES), Refusing()
    model = find_model("hashing")
    spec = EmbeddingSpec(request.param, model.counter(), model.window)

    async def step() -> tuple[list[str], int]:
        opened = OpenVault.open(VaultOptions("notes", root), tmp_path / "index", worker, spec)
        try:
            await opened.in_writer(opened.indexer.load)
            await opened.in_writer(opened.indexer.apply, opened.indexer.reconcile())
            while await opened.embedding.step():
                pass
            assert not opened.ledger.counts().pending
            return [path for path, _ in opened.ledger.problems.all()], sum(await opened.embedding.stored())
        finally:
            opened.close()

    return worker, root, step


async def test_it_is_tried_again_after_a_start_and_not_for_ever(start):
    worker, _, step = start
    problems, stored = await step()
    assert problems == ["bad.md"]
    for _ in range(REFUSED_TRIES):
        worker.asked.clear()
        assert await step() == (["bad.md"], stored)
        assert worker.asked
        assert all("poisonous" in text for text in worker.asked)
    worker.asked.clear()
    assert await step() == (["bad.md"], stored)
    assert not worker.asked


async def test_it_is_embedded_once_the_server_takes_it(start):
    worker, _, step = start
    _, stored = await step()
    worker.refuses = False
    problems, all_stored = await step()
    assert not problems
    assert all_stored > stored


@pytest.mark.parametrize("moves", [False, True])
async def test_it_is_tried_again_when_its_note_changes(start, moves):
    worker, root, step = start
    for _ in range(REFUSED_TRIES + 1):
        _, stored = await step()
    text = (root / "bad.md").read_text()
    path = root / ("else/bad.md" if moves else "bad.md")
    path.parent.mkdir(exist_ok=True)
    if moves:
        (root / "bad.md").rename(path)
    else:
        path.write_text(text + "\n\n## Third\n\nA new passage.\n")
    problems, _ = await step()
    assert problems == [str(path.relative_to(root))]
    worker.refuses = False
    path.write_text(text + "\n\n## Third\n\nAnother new passage.\n")
    problems, all_stored = await step()
    assert not problems
    assert all_stored > stored


async def test_a_text_that_cannot_be_composed_stays_a_problem(start, monkeypatch):
    worker, _, step = start
    worker.refuses = False
    real = unembedded.passage_text

    def compose(**parts: Any) -> Any:
        if parts["title"] == "Bad":
            raise IndexError("a bug")
        return real(**parts)

    monkeypatch.setattr(unembedded, "passage_text", compose)
    for _ in range(2):
        problems, _ = await step()
        assert problems == ["bad.md"]
    monkeypatch.undo()
    assert (await step())[0] == []
