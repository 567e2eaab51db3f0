"""Measure whether successors rank above the notes they replace, and whether notes from the time named in a
question come first.

    python scripts/bench_currency.py [--mode keyword]

``tests/data/currency/pairs.tsv`` has pairs of an old and a new note, with a query in the words of the old
one. ``times.tsv`` has questions that name a time, each with its subject and the days meant. The first half of
each file is for development, the second for testing only. Nothing may be tuned on the second half, which also
contains languages, and ways of marking successors, that the first half lacks.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from vaultseek.content.query.times import find_time
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.search import request as requests
from vaultseek.core.search.currency import currency_of
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.semantic.models.choice import choose_models
from vaultseek.settings.search import SearchSettings

DATA = Path(__file__).parents[1] / "tests" / "data" / "currency"
TODAY = date(2026, 11, 28)
FIRST = 5
"""Number of first results that must include the right note for a question that names a time."""
WAYS = (
    ('---\nsuperseded_by: "[[{new}]]"\n---\n{old}', "{text}"),
    ("---\nsuperseded_by: {new}\nstatus: deprecated\n---\n{old}", "{text}"),
    ("{old}", '---\nsupersedes: "[[{name}]]"\n---\n{text}'),
    ("> [!warning] Outdated\n> This note was replaced by [[{new}]].\n\n{old}", "{text}"),
    ("{old}", "---\nreplaces:\n  - '[[{name}]]'\n---\n{text}"),
    ("---\nstatus: superseded by [[{new}]]\n---\n{old}", "{text}"),
    ("# {name}\n\n**Superseded by [[{new}]].**\n\n{old}", "{text}"),
    ("Diese Notiz wurde durch [[{new}]] ersetzt.\n\n{old}", "{text}"),
    ("superseded_by:: [[{new}]]\n\n{old}", "{text}"),
    ("# {name}\n\n## Status\n\nSuperseded by [the new one](<{new}.md>)\n\n## Text\n\n{old}", "{text}"),
)
"""Texts of an old and a new note, in the forms of the development half."""
HELD_OUT_WAYS = (
    ('---\nsupersededBy: "[[{new}|now]]"\n---\n{old}', "{text}"),
    ("---\nreplaced-by: '[new]({link}.md)'\n---\n{old}", "{text}"),
    ("{old}", "This page replaces [[{name}]].\n\n{text}"),
    ("⚠️ *This page has moved to [[{new}]].*\n\n{old}", "{text}"),
    ("- Date: 2025-02-03\n- Status: replaced by [[{new}]]\n\n{old}", "{text}"),
    ("{old}", "---\nobsoletes: {name}\n---\n{text}"),
    ("Ersetzt durch [[{new}]].\n\n{old}", "{text}"),
    ("Cette note est remplacée par [[{new}]].\n\n{old}", "{text}"),
    ("{old}", "supersedes:: [[{name}]]\n\n{text}"),
    ("> Note: this decision has been superseded by [[{new}]], since March.\n\n{old}", "{text}"),
)


def pairs() -> Iterator[tuple[str, str, str, str]]:
    """Yield name, query, and both texts of each pair."""
    for line in (DATA / "pairs.tsv").read_text(encoding="utf-8").splitlines():
        name, query, old, new = line.split("\t")
        yield name, query, old, new


def notes_of_pairs() -> dict[str, str]:
    """Return the notes of all pairs; the halves mark superseded notes in different ways."""
    notes: dict[str, str] = {}
    for number, (name, _, old, new) in enumerate(pairs()):
        ways = WAYS if number < 50 else HELD_OUT_WAYS
        of_old, of_new = ways[number % len(ways)]
        names: Mapping[str, str] = {
            "name": name,
            "new": f"{name} now",
            "link": f"{name} now".replace(" ", "%20"),
        }
        notes[f"{name}.md"] = of_old.format(old=old, **names)
        notes[f"{name} now.md"] = of_new.format(text=new, **names)
    return notes


def questions() -> list[tuple[str, str, date, date]]:
    """Return each question that names a time, with its subject and the first and last day meant."""
    lines = (DATA / "times.tsv").read_text(encoding="utf-8").splitlines()
    parts = (line.split("\t") for line in lines)
    return [
        (text, about, date.fromisoformat(low), date.fromisoformat(high)) for text, about, low, high in parts
    ]


def notes_of_times() -> dict[str, tuple[str, str, date]]:
    """Return text, subject and day of notes: one per month, one per day of the last weeks, and one per
    question."""
    subjects = sorted({about for _, about, _, _ in questions()})
    months = [(2024 + month // 12, month % 12 + 1) for month in range(35)]
    days = {about: {date(*month, 3 + 2 * at) for month in months} for at, about in enumerate(subjects)}
    for about in subjects:
        days[about] |= {TODAY - timedelta(days=back) for back in range(1, 27)}
    for _, about, low, high in questions():
        days[about].add(min(low + (high - low) // 2, TODAY))
    notes: dict[str, tuple[str, str, date]] = {}
    for about in subjects:
        for number, day in enumerate(sorted(days[about])):
            said = f"Looked after the {about} again: {REMARKS[number % len(REMARKS)]}."
            form = number % 3
            if form == 0:
                path, text = f"Daily/{day} {about}.md", said
            elif form == 1:
                path, text = f"Notes/{about} {number}.md", f"---\ndate: {day}\n---\n{said}"
            else:
                path, text = f"Notes/{about} {number}.md", f"{said} Done on {day:%d %B %Y}."
            notes[path] = text, about, day
    return notes


REMARKS = (
    "it took an hour",
    "all was well",
    "Per helped me",
    "something rattled",
    "the bill came later",
    "it has to be done anew",
    "nobody noticed",
)


async def run(mode: Any) -> None:
    """Index the notes of both sets, ask every question, and print the shares per half."""
    # The questions were written for a particular day.
    requests.present = lambda: datetime(TODAY.year, TODAY.month, TODAY.day, 12)  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        times = notes_of_times()
        for path, text in {
            **notes_of_pairs(),
            **{path: text for path, (text, _, _) in times.items()},
        }.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        options, models = VaultOptions(root.name, root), choose_models("bundled")
        directory = Path(folder) / "cache"
        async with indexed_vault(options, directory, models, lambda phase, counts: None, []) as vault:
            searcher = Searcher(vault)

            async def results(query: str, settings: SearchSettings) -> Sequence[Any]:
                answer = await searcher.search(SearchRequest(query, settings, mode=mode, limit=10))
                return list(answer["results"])

            for half, some in (("development", list(pairs())[:50]), ("held out", list(pairs())[50:])):
                right = 0
                for name, query, _, _ in some:
                    found = {each["path"]: each for each in await results(query, SearchSettings())}
                    order = list(found)
                    old, new = f"{name}.md", f"{name} now.md"
                    is_first = new in found and (old not in found or order.index(new) < order.index(old))
                    is_right = (
                        is_first and old in found and all(found[note]["currency"] for note in (old, new))
                    )
                    right += is_right
                    if not is_right:
                        print("  wrong:", query, order[:3])
                print(f"pairs, {half}: {right} of {len(some)}")
            asked = questions()
            for half, part in (("development", asked[:60]), ("held out", asked[60:])):
                for label, settings in (("without", SearchSettings(times=False)), ("with", SearchSettings())):
                    right = 0
                    for text, about, low, high in part:
                        shown = await results(text, settings)
                        hits = (times.get(each["path"]) for each in shown[:FIRST])
                        is_right = any(hit and hit[1] == about and low <= hit[2] <= high for hit in hits)
                        right += is_right
                        if settings.times and not is_right:
                            print("  wrong:", text, [each["path"] for each in shown[:3]])
                    print(f"times, {half}, {label}: {right} of {len(part)}")
            rows = list(vault.ledger.notes.by_id(vault.ledger.notes.ids()[:10]).values())
            rules = SearchSettings().currency.rules
            spent = milliseconds(lambda: currency_of(rows, vault.ledger, rules, str(TODAY)))
            print(f"currency of ten results, five of them superseded: {spent:.3f} ms")
            text = "how to bleed the brakes of the car"
            print(f"reading a question: {milliseconds(lambda: find_time(text, TODAY)):.3f} ms")


def milliseconds(work: Callable[[], object]) -> float:
    """Return the median time of 200 calls."""
    spent = []
    for _ in range(200):
        began = time.perf_counter()
        work()
        spent.append((time.perf_counter() - began) * 1000)
    return median(spent)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mode", default="hybrid", choices=("hybrid", "keyword"))
    asyncio.run(run(parser.parse_args().mode))
