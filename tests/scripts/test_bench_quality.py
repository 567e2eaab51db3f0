"""The script that measures ranking: where it finds notes, and which sets its tables separate."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import bench_constants
import bench_quality
import pytest

from vaultseek.core.search import signals


@pytest.fixture
def sets(tmp_path):
    """A function that creates a set with one question."""

    def make(folder: str, vault: str | None = "vault") -> Path:
        path = tmp_path / folder
        notes = path / "vault" if vault == "vault" else tmp_path / (vault or "")
        for each in (path, notes):
            each.mkdir(parents=True, exist_ok=True)
        (path / "queries.jsonl").write_text('{"id": "1", "query": "slugs on lettuce"}\n')
        (path / "qrels.tsv").write_text("1\tSlugs.md\t2\n")
        if vault is not None:
            (notes / "Slugs.md").write_text("# Slugs\nSlugs eat lettuce at night.\n")
            (notes / "Bees.md").write_text("# Bees\nBees swarm in May.\n")
        return path

    return make


def printed(capsys, monkeypatch, tmp_path, *arguments: object) -> list[str]:
    """Run the script; return the lines of its tables."""
    words = ["bench_quality.py", "--cache", tmp_path / "cache", "--model", "hashing-32", *arguments]
    monkeypatch.setattr(sys, "argv", list(map(str, words)))
    bench_quality.main()
    return capsys.readouterr().out.splitlines()


def test_each_set_has_a_row_and_sets_for_testing_only_stand_apart(sets, capsys, monkeypatch, tmp_path):
    lines = printed(capsys, monkeypatch, tmp_path, sets("garden"), sets("held-out/orchard"))
    apart = lines.index("For testing only, never to choose a constant:")
    rows = [number for number, line in enumerate(lines) if line.startswith("| garden |")]
    apart_rows = [number for number, line in enumerate(lines) if line.startswith("| orchard |")]
    assert len(rows) == len(apart_rows) == 1 + len(bench_quality.METRICS)
    assert max(rows) < apart < min(apart_rows)
    assert {"Hit@5", "P@5", "refused"} <= set(lines[0].split(" | "))
    assert lines[rows[0]].startswith("| garden | 1 | 1.0000 |")


def test_questions_about_notes_in_another_language_use_the_vault_of_that_language(sets, tmp_path):
    sets("xquad-en")
    crossing = sets("cross-de-en", vault=None)
    assert bench_quality.vault_of(crossing, None) == (tmp_path / "xquad-en/vault").resolve()


def test_sets_about_the_same_notes_name_their_folder(sets, tmp_path):
    sets("garden")
    questions = sets("held-out/weeds", vault=None)
    (questions / "vault.txt").write_text("../../garden/vault\n")
    assert bench_quality.vault_of(questions, None) == (tmp_path / "garden/vault").resolve()


def test_a_set_without_notes_of_its_own_finds_them_by_name(sets, tmp_path):
    garden = sets("judged/garden", vault="vaults/garden")
    assert bench_quality.vault_of(garden, tmp_path / "vaults") == (tmp_path / "vaults/garden").resolve()
    with pytest.raises(SystemExit, match="no vault; tried"):
        bench_quality.vault_of(garden, None)


def test_constants_are_not_chosen_by_sets_for_testing_only(sets, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench_constants.py", str(sets("held-out/orchard"))])
    with pytest.raises(SystemExit):
        bench_constants.main()
    assert "for testing only" in capsys.readouterr().err


def test_paraphrases_are_asked_of_notes_of_mixed_ages_and_no_right_one_is_recent(sets):
    folder = sets("judged/garden-paraphrases", vault="vaults/garden")
    vaults = folder.parents[1] / "vaults"
    assert bench_quality.vault_of(folder, vaults) == (vaults / "garden").resolve()
    paths = [f"{number}.md" for number in range(300)]
    judged = folder.parents[1] / "held-out" / folder.name
    judged.mkdir(parents=True)
    (judged / "qrels.tsv").write_text("".join(f"1\t{path}\t2\n" for path in paths[:100]))
    with bench_quality.mixed_ages(folder):
        days = [(time.time() - signals._date(SimpleNamespace(path=path), None)) / 86_400 for path in paths]
    assert min(days[:100]) > 365
    assert 40 < sum(age < 30 for age in days[100:]) < 95
