"""A cross-encoder in the real worker behind the real daemon."""

import pytest

from tiny_models import save_cross_encoder

pytestmark = pytest.mark.model
NOTES = {f"n{i}.md": f"# Stone {i}\n\nA note about granite number {i}.\n" for i in range(5)}
SWITCHED_ON = {"VAULTSEEK_SEARCH__RERANK_ENABLED": "true"}


def test_results_are_read_again_and_what_is_missing_is_said(daemon, vault, tmp_path):
    root = daemon.indexed(vault(NOTES))
    missing = daemon.json("search", "granite", "--vault", str(root), env=SWITCHED_ON)
    assert [part["lane"] for part in missing["partial"]] == ["rerank"]
    advice = {"kind": "fetch", "names": ["cross-encoder/ms-marco-MiniLM-L-6-v2"]}
    assert missing["partial"][0]["advice"] == advice
    model = save_cross_encoder(tmp_path / "tiny-reranker")
    environment = SWITCHED_ON | {
        "VAULTSEEK_SEARCH__RERANK_MODEL": str(model),
        "VAULTSEEK_SEARCH__RERANK_SECONDS": "60",
    }
    answer = daemon.json("search", "granite", "--explain", "--vault", str(root), env=environment)
    scores = [result["rerank"]["score"] for result in answer["results"]]
    assert answer["partial"] == []
    assert scores == sorted(scores, reverse=True)
    assert sorted(result["rerank"]["rank_before"] for result in answer["results"]) == [1, 2, 3, 4, 5]
    late = daemon.json(
        *("search", "granite", "--vault", str(root)),
        env=environment | {"VAULTSEEK_SEARCH__RERANK_SECONDS": "0.0001"},
    )
    # A model this small may finish before the time is checked.
    assert [part["lane"] for part in late["partial"]] in ([], ["rerank"])
    assert len(late["results"]) == 5
