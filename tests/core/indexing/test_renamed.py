"""Meaning follows the name of a note whose title is its file name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semantic_here import WorkerHere, open_vault
from vaultseek.core.indexing.audit import Audit, audit
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import index_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.semantic.inference.embed import load
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.settings.search import SearchSettings

pytestmark = [pytest.mark.model, pytest.mark.slow]

TEXT = "Bleed the radiators in autumn, before the pressure falls below one bar."


@pytest.fixture(scope="module")
def bundled() -> Any:
    return load("bundled")


class Indexed:
    """A vault indexed with the bundled model, in this process."""

    def __init__(self, root: Path, directory: Path, encoder: Any) -> None:
        worker = WorkerHere()
        worker._encoder = encoder
        self.encoder = encoder
        self.vault = open_vault(VaultOptions("notes", root), directory, worker, find_model("bundled"))

    async def note_vectors(self) -> dict[str, Any]:
        await index_vault(self.vault)
        rows = self.vault.ledger.notes.by_id(self.vault.ledger.notes.ids())
        vectors = await self.vault.embedding.note_vectors(list(rows), 10.0)
        return {row.path: vectors[id] for id, row in rows.items()}

    async def found(self, query: str) -> dict[str, float]:
        """Return the certainty of each note found by meaning."""
        answer = await Searcher(self.vault).search(SearchRequest(query, SearchSettings(), mode="semantic"))
        return {each["path"]: each["certainty"] for each in answer["results"]}

    def computed(self) -> int:
        return self.vault.ledger.vectors.embeddings_computed()


@pytest.mark.fault("K8", "C7")
async def test_k8_a_renamed_note_is_found_by_its_new_name(vault, tmp_path, bundled):
    root = vault({f"house/Untitled {n}.md": f"{TEXT} Room {n}." for n in range(3)} | {"b.md": "Tomatoes."})
    index = Indexed(root, tmp_path / "index", bundled)
    try:
        before = await index.note_vectors()
        computed = index.computed()
        (root / "house").rename(root / "home")
        assert (await index.note_vectors()).keys() == {p.replace("house", "home") for p in before}
        assert index.computed() == computed, "a folder that moves costs nothing"
        (root / "home" / "Untitled 0.md").rename(root / "home" / "Boiler manual.md")
        after = await index.note_vectors()
        assert index.computed() == computed + 1, "the text of the note is that of its only passage"
        found = {query: await index.found(query) for query in ("boiler manual", "radiators in autumn")}
        audited = audit(index.vault.ledger, index.vault.embedding.unembedded, seconds=60)
        assert audited == Audit(4)
    finally:
        index.vault.close()
    fresh = Indexed(root, tmp_path / "fresh", bundled)
    try:
        expected = await fresh.note_vectors()
        for query, results in found.items():
            assert results == pytest.approx(await fresh.found(query), abs=1e-4)
    finally:
        fresh.vault.close()
    for path, vector in expected.items():
        assert float(after[path] @ vector) == pytest.approx(1.0, abs=1e-5)
    query = bundled.encode(["boiler manual"], query=True)[0]
    named = after["home/Boiler manual.md"]
    assert float(query @ named) > float(query @ before["house/Untitled 0.md"]) + 0.2
    assert np.isfinite(named).all()
