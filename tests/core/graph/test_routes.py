"""Routes between two notes."""

import asyncio

from semantic_here import WorkerHere, index_here
from vaultseek.core.graph.routes import routes
from vaultseek.errors import WorkerUnavailable


def test_where_neither_links_nor_meaning_lead_the_reason_is_given(vault, tmp_path, monkeypatch):
    async def down(*_: object, **__: object) -> None:
        raise WorkerUnavailable("the worker is down")

    monkeypatch.setattr(WorkerHere, "query", down)
    opened = index_here(vault({"a.md": "# A\n", "b.md": "# B\n"}), tmp_path / "index")
    one, other = (opened.ledger.notes.by_path(path) for path in ("a.md", "b.md"))
    answer = asyncio.run(routes(one, other, opened, opened.graph, 3))
    assert (answer["other"]["path"], answer["routes"]) == ("b.md", [])
    (left_out,) = answer["partial"]
    assert (left_out["lane"], left_out["code"]) == ("semantic", "worker_unavailable")
    opened.close()
