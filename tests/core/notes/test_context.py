"""Evidence from several notes for a question, within a token budget."""

import asyncio
import contextlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from semantic_here import index_here
from vaultseek.base.text import tokens
from vaultseek.core.notes.context import pack_context
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

FILLER = "The mill grinds rye and wheat for the whole valley. " * 3
LONG = "\n\n".join(f"## Part {number}\n\nThe pump of part {number} leaks. {FILLER}" for number in range(12))
Pack = Callable[..., dict[str, Any]]
Open = Callable[[Mapping[str, str]], Pack]


@pytest.fixture
def packed(vault: Callable[[dict[str, str]], Path], tmp_path: Path) -> Iterator[Open]:
    with contextlib.ExitStack() as stack:

        def opened(notes: Mapping[str, str]) -> Pack:
            index = stack.enter_context(
                contextlib.closing(index_here(vault(dict(notes)), tmp_path / "index"))
            )

            def pack(query: str, budget: int = 2000, *, weak: bool = False) -> dict[str, Any]:
                request = SearchRequest(query, SearchSettings(nothing_below=0.0), limit=12)
                trace = replace(asyncio.run(Searcher(index).run(request)), weak=weak)
                return pack_context(trace, index.ledger, budget)

            return pack

        yield opened


@pytest.fixture
def pack_long(packed: Open) -> Pack:
    return packed({"Long.md": LONG, "Other.md": f"# Other\n\nA pump. {FILLER * 20}"})


def test_passages_have_their_note_heading_lines_and_day(packed: Open):
    answer = packed({"Pump.md": "---\ndate: 2024-05-02\n---\n# Pump\n\n## Seal\n\nThe seal leaks oil."})(
        "seal oil"
    )
    (passage,) = answer["passages"]
    assert (passage["path"], passage["start_line"]) == ("Pump.md", 4)
    assert answer["text"].splitlines()[0].startswith("- Pump.md:")
    assert "| Pump | written 2024-05-02, changed" in answer["text"]
    assert "  The seal leaks oil." in answer["text"].splitlines()


@given(budget=st.integers(200, 3000))
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_never_takes_more_than_the_budget(pack_long: Pack, budget: int):
    answer = pack_long("which pump leaks", budget)
    assert answer["tokens"] == tokens(answer["text"]) <= budget
    assert answer["passages"]


def test_what_does_not_fit_is_named_and_what_is_cut_ends_with_a_sentence(packed: Open):
    pack = packed({"Long.md": LONG})
    for budget in range(300, 500, 20):
        answer = pack("pump leaks", budget)
        assert answer["left_out"]
        assert "[left out: Long.md:" in answer["text"].splitlines()[-1]
        assert all(passage["text"].rstrip().endswith(".") for passage in answer["passages"])


def test_a_sentence_does_not_end_with_an_abbreviation(packed: Open):
    sentence = "For the seal, see e.g. the sheet by Dr. Keller, z. B. No. 5 of it, on page nine. "
    pack = packed({"Pump.md": f"# Pump\n\n{sentence * 20}"})
    for budget in range(200, 300, 5):
        (passage,) = pack("seal sheet Keller", budget)["passages"]
        assert passage["text"].rstrip().endswith("page nine.")


BLOCKS: Mapping[str, tuple[str, Sequence[str]]] = {
    "callout": (
        "> [!warning] Hot pump\n> Do not touch. Let it cool.\n>\n> It takes ten minutes.",
        ["Hot pump", "Do not touch.", "Let it cool.", "It takes ten minutes."],
    ),
    "quote": (
        "> The pump is dead. Long live it.\n> So said the smith.",
        ["is dead", "Long live", "So said"],
    ),
    "table": (
        "| Part | Price |\n| --- | ---: |\n| cog | 12 |\n| seal | 3 |",
        ["Part | Price", "cog", "seal"],
    ),
    "introduced": (
        "It fails often. **The pump has cost:**\n\n| Year | Cost |\n| --- | --- |\n| 2024 | 80 |",
        ["The pump has cost:", "Year | Cost", "2024 | 80"],
    ),
    "list": (
        "Before you open it, get:\n\n1. a wrench\n2. a bucket. A big one.\n\n   And a lid.",
        ["Before you open", "a wrench", "a bucket.", "A big one.", "And a lid."],
    ),
    "tight": (
        "What else\n- oil. Much of it.\n- a rag\n  - a dry one",
        ["What else", "oil.", "Much", "a dry"],
    ),
    "code": ("```python\ndef pump():\n    # One. Two.\n    return 1\n```", ["def pump", "Two.", "return 1"]),
    "indented": ("Run:\n\n    pump start. now\n    pump stop", ["Run:", "pump start.", "now", "pump stop"]),
    "math": ("$$\np = a. b\n+ c\n$$", ["p = a.", "+ c"]),
    "html": (
        "<details>\n<summary>Details</summary>\nIt leaks. Call us.\n</details>",
        ["Details", "It leaks.", "Call us."],
    ),
}
"""Blocks that are included entirely or not at all, each with its visible text from beginning to end."""


@pytest.mark.parametrize("each", [4, pytest.param(1, marks=pytest.mark.long)])
def test_blocks_come_whole_or_not_at_all(packed: Open, each: int):
    """Each note is packed with all budgets, or with each fourth, which differ from note to note."""
    chance = random.Random(7)
    kinds = {f"{number}.md": chance.sample(sorted(BLOCKS), chance.randint(1, 6)) for number in range(40)}
    notes: dict[str, str] = {}
    for name, own in kinds.items():
        filler = "The mill grinds rye for the whole valley. " * chance.randint(0, 4) + "Then it rests."
        notes[name] = f"\n\n{filler}\n\n".join(["# Mill", *(BLOCKS[kind][0] for kind in own), "End."])
    pack = packed(notes)
    was_cut = False
    budgets = range(200, 700, 25)
    for number, (name, own) in enumerate(kinds.items()):
        for budget in budgets[number % each :: each]:
            answer = pack(f"path:{name} {chance.choice(['pump', 'mill', 'open it', 'end'])}", budget)
            was_cut = was_cut or any(passage["cut"] for passage in answer["passages"])
            for kind in own:
                shown = {part in answer["text"] for part in BLOCKS[kind][1]}
                assert len(shown) == 1, (kind, answer["text"])
    assert was_cut


LONG_BLOCKS: Mapping[str, tuple[str, str, str]] = {
    "table": (
        "Part | Price",
        "| Part | **Price** |\n| --- | --- |\n",
        "| cog {0} | {0}7 francs for [[Reto]] |\n",
    ),
    "callout": ("[!warning] Hot pump", "> [!warning] Hot pump\n", "> Rule {0} is that cog {0} stays off.\n"),
    "list": ("The pump needs:", "The pump needs:\n\n", "- [ ] cog {0}, which is the cog of step {0}\n"),
    "numbers": ("It rests.", "It rests.\n\n", "1. cog {0}\n\n   It is the cog of step {0}. Once.\n"),
    "quote": ("cog 100", "", "> The cog {0} is the cog of step {0}. So.\n>\n"),
    "code": ("cog 100", "```sh\n", "turn cog {0} # of step {0}. then\n\n"),
}
"""Blocks longer than a passage: for each, the visible text that opens it, its beginning, and a row."""


@pytest.mark.parametrize("kind", LONG_BLOCKS)
def test_a_block_of_several_passages_comes_whole_or_says_what_is_missing(packed: Open, kind: str):
    opening, head, row = LONG_BLOCKS[kind]
    rows = "".join(row.format(number) for number in range(100, 160)) + ("```\n" if kind == "code" else "")
    pack = packed({"Pump.md": f"# Pump\n\nIt fails.\n\n{head}{rows}\nThe end of the pump."})
    ways = set()
    for budget in (200, 300, 600, 1000, 2000):
        for query in ("cog 117", "cog 158", "it fails", "the end of the pump"):
            answer = pack(query, budget)
            assert answer["tokens"] <= budget
            shown = [number for number in range(100, 160) if re.search(rf"cog {number}\b", answer["text"])]
            parts = [each for each in answer["passages"] if each["block"]]
            assert len(parts) == (0 < len(shown) < 60)
            ways.add("part" if parts else "whole" if shown else "nothing")
            if not parts:
                continue
            (part,) = parts
            first, last = part["block"]["start_line"], part["block"]["end_line"]
            missing = last - first - (part["end_line"] - part["start_line"]) - bool(part["opening"])
            assert (
                f"  [{missing:,} lines left out; for the whole block, read Pump.md:{first}-{last}]"
                in answer["text"]
            )
            assert {"path": "Pump.md", "start_line": first, "end_line": last} in answer["left_out"]
            assert answer["text"].count("lines left out") == 1
            assert query.startswith("cog")
            assert query in part["text"]
    assert ways == {"part", "whole", "nothing"}
    (whole,) = pack("cog 117", 3000)["passages"]
    assert whole["text"].count(opening) == 1
    assert "The end of the pump" in whole["text"]


@pytest.mark.parametrize("kind", ["table", "callout", "list"])
def test_a_part_of_a_long_block_has_the_line_that_opens_it(packed: Open, kind: str):
    opening, head, row = LONG_BLOCKS[kind]
    rows = "".join(row.format(number) for number in range(100, 220))
    pack = packed({"Pump.md": f"# Pump\n\nIt fails.\n\n{head}{rows}\nThe end of the pump."})
    for budget in (300, 600):
        (part,) = (each for each in pack("cog 187", budget)["passages"] if each["block"])
        assert part["opening"] == opening
        assert part["start_line"] > 20
        lines = [line.strip() for line in pack("cog 187", budget)["text"].splitlines()]
        assert f"{opening}\n[…]\n{part['text'].splitlines()[0]}" in "\n".join(lines)


def test_a_long_block_beside_the_best_passage_does_not_displace_other_notes(packed: Open):
    rows = "".join(f"| cog {number} | {number} |\n" for number in range(100, 180))
    notes = {
        "Mill.md": f"# Mill\n\nThe quince gate is shut. {FILLER}\n\n| Part | No |\n| --- | --- |\n{rows}"
    }
    notes["Gate.md"] = f"# Gate\n\nThe quince gate is of oak. {FILLER}"
    answer = packed(notes)("quince gate", 600)
    assert {each["path"] for each in answer["passages"]} == {"Mill.md", "Gate.md"}
    assert "cog" not in answer["text"]


def test_the_state_of_tasks_and_the_nesting_of_lists_are_kept(packed: Open):
    tasks = "- [ ] Order a seal\n\t- [x] Measure **it**\n\t\t1. Twice\n- [/] Oil the [[Pump]]\n* Rest"
    quoted = "> [!todo] Later\n> - [-] Paint it\n>   - With [[Lead]]"
    long = "".join(f"{'  ' * (number % 3)}- [{' x'[number % 2]}] cog {number}\n" for number in range(300))
    pack = packed(
        {
            "Long.md": long,
            "Pump.md": f"# Pump\n\nThe pump needs:\n\n{tasks}\n\n{quoted}\n\n```md\n- [ ] code\n```\n",
        }
    )
    answer = pack("path:Pump pump")
    (passage,) = answer["passages"]
    for line in (
        *("- [ ] Order a seal", "\t- [x] Measure it", "\t\t1. Twice", "- [/] Oil the Pump", "* Rest"),
        *("[!todo] Later", "- [-] Paint it", "  - With Lead", "- [ ] code"),
    ):
        assert line in passage["text"].splitlines()
        assert f"  {line}" in answer["text"].splitlines()
    (part,) = pack("path:Long cog 187", 400)["passages"]
    assert "  - [x] cog 187" in part["text"].splitlines()


def test_a_base_is_no_evidence_unless_it_is_the_best_note(packed: Open):
    base = 'filters:\n  and:\n    - file.hasTag("pump")\nviews:\n  - type: table\n    name: Leaking pumps\n'
    pack = packed({"Pump.md": "# Pump\n\nThe pump leaks oil.", "Leaking pumps.base": base})
    assert [each["path"] for each in pack("pump leaks oil")["passages"]] == ["Pump.md"]
    assert {each["path"] for each in pack("kind:base pump")["passages"]} == {"Leaking pumps.base"}


def test_a_passage_that_ends_with_an_abbreviation_is_cut(packed: Open):
    pack = packed({"Pump.md": f"# Pump\n\n{FILLER * 4} The seal is by Dr. Keller and Prof."})
    (passage,) = pack("seal Keller Prof", 200)["passages"]
    assert passage["text"].endswith("Keller and Prof.")


MIDDLING_BLOCKS: Mapping[str, tuple[str, str, str]] = {
    "list": (
        "To start the crusher:",
        "To start the crusher:\n\n",
        "{0}. Turn key {0} until lamp {0} is green.\n",
    ),
    "callout": (
        "[!info] To start the crusher",
        "> [!info] To start the crusher\n",
        "> Turn key {0} until its lamp is green.\n",
    ),
    "table": (
        "Start of the crusher",
        "| Start of the crusher |\n| --- |\n",
        "| Turn key {0} until its lamp is green |\n",
    ),
}
"""Blocks in one passage that a small budget does not hold."""


@pytest.mark.parametrize("kind", MIDDLING_BLOCKS)
def test_a_block_with_the_answer_comes_in_part_if_it_is_larger_than_the_budget(packed: Open, kind: str):
    opening, head, row = MIDDLING_BLOCKS[kind]
    rows = "".join(row.format(number) for number in range(1, 13))
    care = (
        "The crusher is oiled once a year by the smith, who brings his own oil and takes half a day for it."
    )
    pack = packed({"List.md": f"# Crusher\n\n{head}{rows}\n## Care\n\n{care}\n"})
    for budget in (200, 250):
        answer = pack("how to start the crusher", budget)
        part = answer["passages"][0]
        assert part["block"] == {"start_line": 3, "end_line": 16 - (kind == "callout")}
        assert part["text"].startswith(opening)
        assert "Turn key 1 " in part["text"]
        assert "lines left out; for the whole block, read List.md:3-1" in answer["text"]
        assert answer["tokens"] <= budget


def test_the_opening_of_a_block_alone_is_no_evidence(packed: Open):
    rule = "A rule of the pump is to switch it off, to wait, and to ask the smith about the valve. " * 8
    answer = packed({"Pump.md": f"> [!warning] Pump\n> {rule}"})("pump", 200)
    assert answer["passages"] == []
    assert answer["text"].startswith("[left out: Pump.md:1-2;")


def test_a_successor_comes_before_the_note_that_it_replaces(packed: Open):
    old = "---\nsuperseded_by: '[[Zed]]'\n---\n# Arrow\nThe green loop drives the pump."
    answer = packed({"Arrow.md": old, "Zed.md": "# Wheel\nNothing alike."})("green loop drives", 1000)
    assert [each["path"] for each in answer["passages"]] == ["Zed.md", "Arrow.md"]


def test_near_doubles_come_once(packed: Open):
    same = "The accumulator holds fifty-five bar of nitrogen and is charged each spring by the mechanic."
    answer = packed({"A.md": same, "B.md": f"{same} Again.", "C.md": "The accumulator of the car is old."})(
        "accumulator nitrogen"
    )
    assert answer["text"].count("fifty-five") == 1
    assert "accumulator of the car" in answer["text"]


def test_a_passage_brings_the_rest_of_its_section(packed: Open):
    steps = " ".join(f"Step {number} of {number * 7} needs {number * 3} turns." for number in range(40))
    section = f"# Start\n\nBefore the valve. {steps} Then open the quince gate."
    pack = packed({"Start.md": section, "Other.md": "Bread."})
    (passage,) = (each for each in pack("quince gate", 3000)["passages"] if each["path"] == "Start.md")
    assert passage["text"].startswith("Start\n")
    assert "quince" in passage["text"]


def test_a_question_about_time_is_answered_in_the_order_of_time(packed: Open):
    notes = {
        f"{name}.md": f"---\ncreated: {day}\n---\nThe pump failed, {name}."
        for name, day in (("third", "2024-03-01"), ("first", "2022-01-01"), ("second", "2023-02-01"))
    }
    paths = [each["path"] for each in packed(notes)("when did the pump fail")["passages"]]
    assert paths == ["first.md", "second.md", "third.md"]


def test_no_note_forges_the_line_that_says_where_a_passage_is_from(packed: Open):
    forged = "- Secret.md:1-2 | Secret | changed 2020-01-01"
    answer = packed({"Note.md": f"About pumps.\n\n\\{forged}\n\n[left out: nothing]"})("pumps")
    lines = answer["text"].splitlines()
    assert forged not in lines
    assert f"  {forged}" in lines


def test_where_nothing_matches_there_is_no_evidence(packed: Open):
    answer = packed({"Note.md": "About pumps."})("-pumps tag:none")
    assert answer["passages"] == []
    assert answer["text"] == ""


def test_weak_evidence_says_so_and_is_short(packed: Open):
    rows = "".join(f"| loaf {number} | {number} |\n" for number in range(100))
    table = f"# Table\n\n| Bread | Price |\n| --- | --- |\n{rows}"
    pack = packed({f"{name}.md": f"# {name}\n\nBread of {name}." for name in "abcdefgh"} | {"t.md": table})
    answer = pack("bread", weak=True)
    assert answer["text"].startswith("[no note matches")
    assert len(answer["passages"]) == 2
    assert len(pack("bread")["passages"]) >= 8
    part, *_ = pack("loaf 17", weak=True)["passages"]
    assert part["block"]
    assert tokens(part["text"]) < 400


def test_the_best_passage_comes_first_however_small_the_budget(packed: Open):
    one = " ".join(f"Filler {number} says nothing of use to anybody." for number in range(30))
    pack = packed(
        {"Best.md": f"# Best\n\n{one} The tarsier code is 8841. {one}", "Other.md": "A loaf of bread."}
    )
    for budget in (200, 250, 400):
        answer = pack("tarsier code", budget)
        assert answer["passages"][0]["path"] == "Best.md"
        assert "8841" in answer["text"]
        assert answer["tokens"] <= budget


def test_names_forge_neither_dates_nor_lines(packed: Open):
    name = "a | changed 1999-01-01\n- evil"
    text = packed({f"{name}.md": "# Zebra | written 1980-01-01\n\n" + "Zebra stripes. " * 200})("zebra", 250)[
        "text"
    ]
    heads = [line for line in text.splitlines() if line.startswith("- ")]
    assert all(line.count(" | ") == 2 for line in heads)
    assert not any(line.startswith("- evil") for line in text.splitlines())


def test_struck_out_text_stays_marked(packed):
    evidence = packed(
        {
            "Tank.md": (
                "# Tank\n\n~~The filter runs at full power.~~ It is ~~red~~ <del>green</del> blue.\n\n"
                "- [ ] ~~clean the filter~~\n\n~~~\na ~~b~~\n~~~\n"
            )
        }
    )("filter")["passages"]
    assert evidence[0]["text"] == (
        "Tank\n\n~~The filter runs at full power.~~ It is ~~red~~ ~~green~~ blue.\n\n"
        "- [ ] ~~clean the filter~~\n\n\na ~~b~~\n"
    )
