"""The script that measures opened notes: its table has the gains of each set and their mean."""

import sys

import bench_opens


def test_an_opened_note_gains_and_no_other_question_changes(tmp_path, monkeypatch, capsys):
    notes = tmp_path / "set" / "vault"
    notes.mkdir(parents=True)
    for name in ("Slugs", "Bees", "Snails", "Ants"):
        (notes / f"{name}.md").write_text(f"# {name}\n{name} in the garden at night.\n")
    (tmp_path / "set" / "queries.jsonl").write_text(
        '{"id": "1", "query": "garden at night"}\n{"id": "2", "query": "bees"}\n'
    )
    (tmp_path / "set" / "qrels.tsv").write_text("1\tSnails.md\t2\n2\tBees.md\t2\n")
    arguments = ["--cache", tmp_path / "cache", "--model", "hashing-32", tmp_path / "set"]
    monkeypatch.setattr(sys, "argv", ["bench_opens.py", *map(str, arguments)])
    bench_opens.main()
    head, _, row, mean = capsys.readouterr().out.splitlines()
    figures = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert figures["repeated 3"].startswith("+0.")
    assert figures["others 3"] == "+0.000"
    assert mean.startswith("| mean")
