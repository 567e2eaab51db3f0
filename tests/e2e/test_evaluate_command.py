"""``vaultseek evaluate`` on a small vault with a few queries."""

import json
from pathlib import Path

import pytest

NOTES = {
    "Oar.md": "# Oar\nrow the boat",
    "Sail.md": "# Sail\nwind for the boat",
    "Bread.md": "# Bread\nflour",
}
QUERIES = """{"id": "1", "query": "row", "category": "word"}
{"id": "2", "query": "zeppelin", "category": "nonsense"}
"""


@pytest.fixture
def judged(tmp_path):
    """Return the options that name the judged queries."""
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels.tsv").write_text("1\tOar.md\t1\n")
    return ["--queries", str(tmp_path / "queries.jsonl"), "--qrels", str(tmp_path / "qrels.tsv")]


def test_a_vault_is_measured_and_the_measurement_is_kept(daemon, vault, judged):
    data = daemon.json(
        "evaluate",
        "--vault",
        str(vault(NOTES)),
        *judged,
        "--compare",
        "flat=graph:false",
    )
    by_name = data["variants"]
    assert list(by_name) == ["vaultseek", "grep", "keyword alone", "semantic alone", "plain RRF", "flat"]
    assert by_name["vaultseek"]["figures"]["word"]["MRR"]["mean"] == 1.0
    assert by_name["vaultseek"]["nothing_found"]["word"] == 0.0
    assert by_name["flat"]["settings"] == {"graph": False}
    assert by_name["keyword alone"]["settings"] == {"mode": "keyword"}
    (kept,) = Path(daemon.environment["XDG_DATA_HOME"]).rglob("report.json")
    assert json.loads(kept.read_text()) == data, "the page in the browser shows it"
    assert kept.stat().st_mode & 0o777 == 0o600


def test_an_empty_vault_is_refused(daemon, vault, judged):
    done = daemon.run("evaluate", "--vault", str(vault({})), *judged)
    assert done.returncode == 2
    assert "has no notes; choose another vault with --vault" in done.stderr
