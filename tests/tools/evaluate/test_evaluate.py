"""Judgement files, metrics, variants, reports, and one complete evaluation."""

import contextlib
import json
import math
import re
from pathlib import Path

import psutil
import pytest

from semantic_here import WorkerHere, open_vault
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import index_vault, indexed_vault
from vaultseek.errors import UsageError
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.settings.search import SearchSettings
from vaultseek.tools.evaluate.judgements import JudgedQuery, read_qrels, read_queries
from vaultseek.tools.evaluate.metrics import (
    THRESHOLDS,
    Refusal,
    bootstrap_interval,
    compute_metrics,
    keyboard_noise,
    latency_percentiles,
    paired_difference,
    refusals,
)
from vaultseek.tools.evaluate.report import as_json, as_text
from vaultseek.tools.evaluate.run import cache_directory, evaluate
from vaultseek.tools.evaluate.variants import variants

pytestmark = pytest.mark.slow

GARDEN = {
    "slugs.md": "# Slimy visitors\nSlugs ate the lettuce. Copper tape helps.",
    "pump.md": "# Sump pump\nThe float switch E-4107 sticks when the water is high.",
    "bread.md": "# Bread\nFlour, water, salt and time.",
}


def files(folder: Path, queries: str, qrels: str) -> tuple[Path, Path]:
    (folder / "queries.jsonl").write_text(queries, encoding="utf-8")
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return folder / "queries.jsonl", folder / "qrels.tsv"


def test_queries_and_their_judgements(tmp_path):
    queries = read_queries(
        *files(
            tmp_path,
            '{"id": "1", "query": "slugs", "category": "word", "filters": {"tag": "garden"}}\n\n'
            '{"_id": "2", "text": "pump"}\n',
            "query\tpath\tgrade\n1\tslugs.md\t2\n1\tnotes/a b.md\t1\n",
        )
    )
    assert [(q.id, q.text, q.category, dict(q.filters), dict(q.grades)) for q in queries] == [
        ("1", "slugs", "word", {"tag": "garden"}, {"slugs.md": 2, "notes/a b.md": 1}),
        ("2", "pump", "", {}, {}),
    ]


@pytest.mark.parametrize(
    "qrels",
    [
        "query\tpath\tgrade\n1\ta.md\t2\n",
        "1\ta.md\t2",
        "query-id\tcorpus-id\tscore\n1\ta\t2\n",
        "1 0 a 2\n",
        "1\t0\ta.md\t2\r\n",
    ],
)
def test_formats_of_judgements(tmp_path, qrels):
    assert read_qrels(files(tmp_path, "", qrels)[1]) == {"1": {"a.md": 2}}


@pytest.mark.parametrize(
    ("queries", "qrels", "message"),
    [
        ("", "", "no queries"),
        ("{", "", "queries.jsonl:1"),
        ('\n{"id": "1"}', "", "queries.jsonl:2"),
        ("[1]", "", "queries.jsonl:1"),
        ('{"id": "1", "query": "a", "filters": 3}', "", "queries.jsonl:1"),
        ('{"id": "1", "query": "a"}\n{"id": "1", "query": "b"}', "", "twice"),
        ('{"id": "1", "query": "a"}', "1\ta.md\t1\n2\ta.md\t1", "'2'"),
        ('{"id": "1", "query": "a"}', "1\ta.md\t1\n1\tb.md\tgood", "qrels.tsv:2"),
        ('{"id": "1", "query": "a"}', "1\ta.md\t1\n1 1", "qrels.tsv:2"),
    ],
)
def test_errors_in_files_name_the_line(tmp_path, queries, qrels, message):
    with pytest.raises(UsageError, match=message.replace("'", ".")):
        read_queries(*files(tmp_path, queries, qrels))


def test_metrics_match_values_computed_by_hand():
    grades = {"q": {"a": 2, "b": 1, "c": 0}, "nothing": {"x": 0}, "missed": {"y": 1}}
    metrics = compute_metrics({"q": ["c", "b", "a"], "nothing": ["x"]}, grades)
    gained = 1 / math.log2(3) + 2 / math.log2(4)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert metrics["nDCG@10"] == pytest.approx({"q": gained / ideal, "missed": 0.0})
    assert metrics["MRR"]["q"] == 0.5
    assert metrics["Hit@1"]["q"] == 0.0
    assert metrics["Hit@5"]["q"] == 1.0
    assert metrics["P@5"]["q"] == pytest.approx(0.4)
    assert metrics["Recall@10"]["q"] == 1.0


def test_intervals_and_differences():
    assert bootstrap_interval([1.0] * 20).low == 1.0
    spread = bootstrap_interval([0.0, 1.0] * 50)
    assert spread.low < 0.5 < spread.high
    assert bootstrap_interval([]).mean == 0.0
    certain = paired_difference([1.0] * 20, [0.5] * 20)
    assert (certain.mean, certain.p < 0.01) == (0.5, True)
    uncertain = paired_difference([1.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    assert uncertain.p > 0.5
    assert paired_difference([], []).p == 1.0
    assert latency_percentiles([1.0, 2.0, 3.0]) == (2.0, pytest.approx(2.9))
    assert latency_percentiles([]) == (0.0, 0.0)


def test_variants_are_the_settings_the_baselines_and_the_comparisons():
    ways = variants(SearchSettings(), ["70/30=fusion:linear,alpha:0.7", "words=mode:keyword"])
    names = [variant.name for variant in ways]
    assert names[:5] == ["vaultseek", "grep", "keyword alone", "semantic alone", "plain RRF"]
    assert ways[4].settings.rrf_ranks == "integer"
    assert (ways[5].settings.fusion, ways[5].settings.has_explicit_alpha) == ("linear", True)
    assert ways[6].mode == "keyword"


@pytest.mark.parametrize("text", ["", "a", "a=", "=rrf_k:1", "a=rrf_k", "a=no_key:1", "grep=rrf_k:1"])
def test_an_invalid_comparison_is_refused(text):
    with pytest.raises(UsageError, match="--compare"):
        variants(SearchSettings(), [text])


async def test_a_whole_measurement(vault, tmp_path):
    root = vault(GARDEN)
    queries = read_queries(
        *files(
            tmp_path,
            '{"id": "1", "query": "slugs lettuce", "category": "words"}\n'
            '{"id": "2", "query": "E-4107", "category": "identifier"}\n'
            '{"id": "3", "query": "zeppelin", "category": "nonsense"}\n'
            '{"id": "4", "query": "\\"float switch\\" -bread", "category": "words"}\n',
            "1\tslugs.md\t1\n2\tpump.md\t1\n4\tpump.md\t1\n4\tgone.md\t0\n1\tlost.md\t1",
        )
    )
    measured = open_vault(
        VaultOptions("notes", root), tmp_path / "cache", WorkerHere(), find_model("hashing")
    )
    try:
        await index_vault(measured)
        report = await evaluate(measured, queries, variants(SearchSettings(), ["flat=rrf_k:200"]))
    finally:
        measured.close()
    best = report.outcomes[0]
    assert (report.notes, dict(report.sizes)["all"], report.unjudged) == (3, 3, 1)
    assert list(report.missing) == ["lost.md"]
    assert best.metrics["identifier"]["Hit@1"].mean == 1.0
    assert best.metrics["all"]["MRR"].mean == 1.0
    assert best.confidence["nonsense"] < 0.2 < best.confidence["identifier"]
    assert [outcome.name for outcome in report.outcomes][-1] == "flat"
    data = json.loads(json.dumps(as_json(report)))
    assert data["variants"]["vaultseek"]["queries"]["2"]["results"][0] == "pump.md"
    assert "| identifier" in as_text(report)
    assert data["model"] == "hashing"
    assert "\nmodel: hashing\n" in as_text(report)


async def test_the_curve_of_refusals_says_what_a_threshold_refuses_and_loses(vault, tmp_path):
    queries = [JudgedQuery("1", "slugs", grades={"slugs.md": 1}), JudgedQuery("2", "zeppelin")]
    root, ways = vault(GARDEN), variants(SearchSettings())[:1]
    measured = open_vault(
        VaultOptions("notes", root), tmp_path / "cache", WorkerHere(), find_model("hashing")
    )
    try:
        await index_vault(measured)
        report = await evaluate(measured, queries, ways, plain=True, foreign=["qwrtzu vbnmjk"])
        without = await evaluate(measured, queries, ways, plain=True, foreign=None)
    finally:
        measured.close()
    assert [point.threshold for point in report.refusals] == list(THRESHOLDS)
    for kind in ("noise_refused", "foreign_refused", "questions_lost"):
        shares = [getattr(point, kind) for point in report.refusals]
        assert shares == sorted(shares)
        assert 0 <= shares[0] <= shares[-1] <= 1
    assert as_json(report)["refusals"][0]["threshold"] == THRESHOLDS[0]
    assert "foreign refused" in as_text(report)
    assert not without.refusals


def test_refusals_are_shares_below_the_threshold_and_name_the_category_that_loses_most():
    curve = refusals([0.01], [0.01, 0.055], {"question": [0.5, 0.9], "paraphrase": [0.055, 0.5]})
    point = next(each for each in curve if each.threshold == 0.06)
    assert point == Refusal(0.06, 1.0, 1.0, 0.25, ("paraphrase", 0.5))
    assert refusals([], [], {})[0] == Refusal(THRESHOLDS[0], None, None, None, None)
    assert keyboard_noise() == keyboard_noise()


async def test_a_report_says_how_well_each_cluster_of_links_is_answered(vault, tmp_path):
    ring = {
        f"{name}{i}.md": f"# {name.title()} {i}\n\nSee [[{name}{i % 4 + 1}]] and [[{name}{(i + 1) % 4 + 1}]]."
        for name in ("slug", "bread")
        for i in range(1, 5)
    }
    queries = [JudgedQuery("1", "slug 2", grades={"slug2.md": 2}), JudgedQuery("2", "x", grades={})]
    options = VaultOptions("notes", vault(ring))
    async with indexed_vault(options, tmp_path / "cache", find_model("hashing")) as measured:
        report = await evaluate(measured, queries, variants(SearchSettings(), [])[:1])
    by_words = {each.words[0]: each for each in report.clusters}
    assert (by_words["slug"].notes, by_words["slug"].queries, by_words["slug"].quality) == (4, 1, 1.0)
    assert (by_words["bread"].notes, by_words["bread"].queries, by_words["bread"].quality) == (4, 0, None)
    assert "clusters of 16 links" in as_text(report)


async def test_vectors_of_the_daemons_index_are_copied(vault, tmp_path):
    options = VaultOptions("notes", vault(GARDEN))
    queries = [JudgedQuery("1", "slugs", grades={"slugs.md": 1})]
    ways = variants(SearchSettings(), [])[:1]
    model = find_model("hashing")
    async with indexed_vault(options, tmp_path / "daemon", model) as own:
        texts = own.ledger.vectors.embeddings_computed()
        (options.root / "new.md").write_text("# Kettle\nIt sings.", encoding="utf-8")
        ledger = tmp_path / "daemon" / "ledger.sqlite"
        async with indexed_vault(options, tmp_path / "cache", model, vectors_in=ledger) as measured:
            report = await evaluate(measured, queries, ways)
        async with indexed_vault(
            options, tmp_path / "alone", model, vectors_in=tmp_path / "none"
        ) as measured:
            alone = await evaluate(measured, queries, ways)
    assert (report.copied, report.computed) == (texts, 2), "of the new note: its passage and itself"
    assert (alone.copied, alone.computed) == (0, texts + 2)
    assert report.results["vaultseek"]["1"].paths == alone.results["vaultseek"]["1"].paths
    assert as_json(report)["vectors"] == {"copied": texts, "computed": 2}
    assert f"vectors: {texts} copied from the daemon's index, 2 computed" in as_text(report)


async def test_expansion_can_be_compared(vault, tmp_path):
    queries = read_queries(*files(tmp_path, '{"id": "1", "query": "slimy"}', "1\tslugs.md\t1"))
    options = VaultOptions("notes", vault(GARDEN))
    measured = open_vault(options, tmp_path / "cache", WorkerHere(), find_model("hashing"))
    ways = variants(SearchSettings(), ["expansion=expansion.enabled:true,expansion.floor:0.3"])
    try:
        await index_vault(measured)
        report = await evaluate(measured, queries, [ways[0], ways[-1]])
    finally:
        measured.close()
    assert [(outcome.name, outcome.partial) for outcome in report.outcomes] == [
        ("vaultseek", ()),
        ("expansion", ()),
    ]
    assert (tmp_path / "cache" / "concept_vocabulary.json").is_file()


async def test_plain_queries_have_no_operators(vault, tmp_path):
    queries = read_queries(
        *files(tmp_path, '{"id": "1", "query": "slugs -lettuce tag:none"}', "1\tslugs.md\t1")
    )
    options = VaultOptions("notes", vault(GARDEN))
    measured = open_vault(options, tmp_path / "cache", WorkerHere(), find_model("hashing"))
    try:
        await index_vault(measured)
        own = variants(SearchSettings())[:1]
        parsed = await evaluate(measured, queries, own)
        plain = await evaluate(measured, queries, own, plain=True)
    finally:
        measured.close()
    assert parsed.outcomes[0].metrics["all"]["Hit@1"].mean == 0.0
    assert plain.outcomes[0].metrics["all"]["Hit@1"].mean == 1.0


def test_a_vault_has_one_cache_wherever_it_is_named_from(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    assert cache_directory(Path("notes"), tmp_path) == cache_directory(tmp_path / "notes", tmp_path)


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ("1\ta.md\tgood\n1\ta.md\t1", "qrels.tsv:1: the grade is good; expected a whole number"),
        ("1\ta.md\t0.5", "qrels.tsv:1: the grade is 0.5; expected a whole number"),
        ("1\ta.md\t1000000", "qrels.tsv:1: the grade is 1000000"),
        ("1\ta.md\tnan", "qrels.tsv:1: the grade is nan"),
        ("1\ta.md\t2\n1\ta\t0", "qrels.tsv:2: a.md is judged twice for '1'"),
        ("1 Areas/Slimy Visitors.md 2", "qrels.tsv:1: expected query, path and grade"),
        ("query\tpath\tgrade\n1\ta.md\t0", "no relevant note"),
    ],
)
def test_ambiguous_judgements_are_refused(tmp_path: Path, qrels: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "1", "query": "boat"}')
    (tmp_path / "qrels.tsv").write_text(qrels)
    with pytest.raises(UsageError, match=re.escape(message)):
        read_queries(tmp_path / "q.jsonl", tmp_path / "qrels.tsv")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "1", "query": " "}', "q.jsonl:1: the query is empty; use a word"),
        ('{"id": "1", "query": "-"}', "q.jsonl:1: the query is empty; use a word"),
        ('{"id": "1", "query": "boat", "category": "all"}', "q.jsonl:1: the category 'all'"),
        ('{"id": "1", "query": "boat", "filters": {"colour": "red"}}', "q.jsonl:1: "),
        (json.dumps({"id": "1", "query": "boat " * 2_000}), "q.jsonl:1: the query has 10,000 characters"),
    ],
)
def test_invalid_queries_are_refused_before_any_runs(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text(line)
    (tmp_path / "qrels.tsv").write_text("1\ta.md\t1")
    with pytest.raises(UsageError, match=re.escape(message)):
        read_queries(tmp_path / "q.jsonl", tmp_path / "qrels.tsv")


def test_queries_separated_by_tabs(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("7\trow the boat\r\n")
    (tmp_path / "qrels.txt").write_text("7 0 a.md 1\n")
    (query,) = read_queries(tmp_path / "topics.tsv", tmp_path / "qrels.txt")
    assert (query.id, query.text, query.grades) == ("7", "row the boat", {"a.md": 1})


@pytest.mark.fault("K13")
async def test_k13_a_worker_that_is_killed_costs_a_measurement_nothing(vault, tmp_path):
    options = VaultOptions("garden", vault(GARDEN))
    queries = [JudgedQuery(str(n), text, grades={"pump.md": 1}) for n, text in enumerate(["water", "switch"])]
    killed: list[int] = []

    def kill(*_: object) -> None:
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                is_worker = "vaultseek.semantic.worker.main" in child.cmdline()
                if is_worker and child.pid not in killed and len(killed) < 2:
                    killed.append(child.pid)
                    child.kill()

    async with indexed_vault(options, tmp_path / "cache", find_model("hashing"), kill) as measured:
        assert measured.ledger.counts().pending == 0
        killed.clear()
        ways = variants(SearchSettings())
        report = await evaluate(measured, queries, ways, foreign=None, on_query=kill)
    assert len(killed) == 2
    assert [outcome.partial for outcome in report.outcomes] == [()] * len(ways)


def test_a_judged_path_may_lack_the_ending_of_a_note_also_if_it_has_a_dot(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("q\tReleases/Version 1.2 notes\t1\nq\t2024.01.05\t1\nq\ta.pdf\t1\nq\tb.md\t1\n")
    assert set(read_qrels(qrels)["q"]) == {"Releases/Version 1.2 notes.md", "2024.01.05.md", "a.pdf", "b.md"}
