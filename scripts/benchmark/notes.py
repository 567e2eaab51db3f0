"""Vaults to measure, which are copied or generated, and queries made from their texts."""

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vaultseek.core.indexing.spaces import language_support
from vaultseek.semantic.models.catalogue import BUNDLED, find_model
from vaultseek.semantic.models.choice import counter_of
from vaultseek.semantic.models.directories import bundled_directory

WORD_COUNTS = (1, 2, 4, 8, 12)
_WORD = re.compile(r"[^\W\d_][\w']*")
_QUESTIONS = (
    "how do I use {}",
    "what is {}",
    "where did I write about {}",
    "why does {} not work",
    "when to {}",
)
_QUERY_CHARS = 900


@dataclass(frozen=True)
class GeneratedNotes:
    """Notes of random English words with natural frequencies, and facts to filter by.

    Each note has ``passages`` sections of ``words`` words. A tag, a folder, a property and a date exist for
    1, 10 and 50 % of the notes: ``tag:p10`` matches every tenth note.
    """

    count: int
    passages: int = 1
    words: int = 40
    first: int = 0

    def write(self, folder: Path) -> None:
        """Write the notes below ``folder``."""
        words = vocabulary()
        for number in range(self.first, self.first + self.count):
            place = folder / place_of(number) / f"{number // 500:04}"
            if number % 500 == 0 or number == self.first:
                place.mkdir(parents=True, exist_ok=True)
            elif not place.is_dir():
                place.mkdir(parents=True)
            (place / f"note {number}.md").write_text(self.text(number, words), encoding="utf-8")

    def text(self, number: int, words: Sequence[str]) -> str:
        """Return the text of a note, the same on every call."""
        chance = random.Random(number)
        title = " ".join(_drawn(chance, words, 3)).capitalize()
        other = chance.randrange(self.first, self.first + self.count)
        lines = [
            "---",
            f"tags: [{', '.join(tags_of(number))}]",
            f"share: {share_of(number)}",
            f"created: {date_of(number)}",
        ]
        lines += ["---", f"# {title}", ""]
        for part in range(self.passages):
            if self.passages > 1:
                lines += [f"## {' '.join(_drawn(chance, words, 2)).capitalize()}", ""]
            lines += [" ".join(_drawn(chance, words, self.words)) + ".", ""]
            if part == 0:
                lines += [f"See [[note {other}]].", ""]
        return "\n".join(lines)


def number_of(path: str) -> int:
    """Return the number of the generated note with this path."""
    return int(Path(path).stem.removeprefix("note "))


def share_of(number: int) -> int:
    """Return the smallest share that includes the note, in per cent: 1, 10, 50 or 100."""
    return 1 if number % 100 == 0 else 10 if number % 10 == 0 else 50 if number % 2 == 0 else 100


def tags_of(number: int) -> list[str]:
    """Return the tags of a generated note, one for each share that includes it."""
    return [f"p{share}" for share in (1, 10, 50, 100) if share >= share_of(number)]


def place_of(number: int) -> str:
    """Return the folder of a generated note, nested so that ``path:`` selects each share."""
    return {100: "all", 50: "all/half", 10: "all/half/tenth", 1: "all/half/tenth/hundredth"}[share_of(number)]


def date_of(number: int) -> str:
    """Return the date of a generated note; the smaller the note's share, the later the date."""
    return {100: "2020-01-01", 50: "2021-01-01", 10: "2022-01-01", 1: "2023-01-01"}[share_of(number)]


@cache
def vocabulary() -> tuple[str, ...]:
    """Return the words in the bundled model's tokenizer, the most frequent first."""
    tokenizer = json.loads((bundled_directory() / "tokenizer.json").read_text(encoding="utf-8"))
    by_number = sorted(tokenizer["model"]["vocab"].items(), key=lambda item: item[1])
    return tuple(word for word, _ in by_number if re.fullmatch(r"[a-z]{2,}", word))


def _drawn(chance: random.Random, words: Sequence[str], count: int) -> list[str]:
    """Return words whose frequency falls with their rank, as in natural language."""
    return [words[int(len(words) ** chance.random()) - 1] for _ in range(count)]


def copy_notes(source: Path, target: Path, most: int | None = None) -> int:
    """Copy up to ``most`` notes with their folders, and return their number."""
    notes = sorted(path for path in source.rglob("*.md") if path.is_file())[:most]
    for path in notes:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return len(notes)


def _is_plain(query: str) -> bool:
    """True if the query has no operator, because rows with filters test those."""
    return not {"OR", "AND", "NOT"} & set(query.split()) and len(query) < _QUERY_CHARS


def _is_readable(query: str) -> bool:
    """True if the bundled model reads the query's language; other queries are not searched by meaning."""
    return language_support(query, _pieces()) == "well"


@cache
def _pieces() -> Callable[[str], int]:
    """Return a function that counts the bundled model's pieces in a word."""
    return counter_of(find_model(BUNDLED))


class Texts:
    """Texts from a vault's notes for queries: titles, headings, sentences and questions."""

    def __init__(self, folder: Path, most: int = 3_000) -> None:
        files = sorted(folder.rglob("*.md"))
        random.Random(1).shuffle(files)
        self._lines: list[list[str]] = []
        self._headings: list[list[str]] = []
        for file in files[:most]:
            self._read(file)

    def queries(self, count: int, seed: int = 0) -> list[str]:
        """Return different queries of 1 to 12 words: titles, headings, parts of sentences and questions."""
        return self._different(count, self._any(random.Random(seed)))

    def of_words(self, size: int, count: int, seed: int = 0) -> list[str]:
        """Return different queries of exactly ``size`` successive words from a text."""
        chance = random.Random(seed * 100 + size)
        return self._different(count, iter(lambda: self._part(chance, size), None))

    def passages(self, count: int) -> list[str]:
        """Return texts of about 238 tokens, the model's limit, to embed in bulk."""
        words = [word for line in self._lines for word in line]
        size = 170
        return [" ".join(words[i * 53 % len(words) :][:size]) for i in range(count)]

    def short_passages(self, count: int) -> list[str]:
        """Return texts of about forty words."""
        words = [word for line in self._lines for word in line]
        return [" ".join(words[i * 37 % len(words) :][:40]) for i in range(count)]

    def _read(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8", errors="replace")
        self._headings.append(_WORD.findall(file.stem)[:12])
        for line in text.splitlines():
            words = _WORD.findall(line)
            if line.startswith("#"):
                self._headings.append(words[:12])
            elif len(words) >= 3 and not line.startswith(("---", "```", "|")):
                self._lines.append(words)

    def _any(self, chance: random.Random) -> Iterator[str]:
        headings = [words for words in self._headings if words]
        while True:
            yield " ".join(chance.choice(headings))
            yield self._part(chance, chance.choice((1, 2, 3)))
            yield self._part(chance, chance.choice((4, 6, 8, 12)))
            yield chance.choice(_QUESTIONS).format(" ".join(chance.choice(headings)[:6]).lower())

    def _part(self, chance: random.Random, size: int) -> str:
        for _ in range(1_000):
            words = chance.choice(self._lines)
            if len(words) >= size:
                start = chance.randrange(len(words) - size + 1)
                return " ".join(words[start : start + size])
        words = [word for line in chance.sample(self._lines, min(size, len(self._lines))) for word in line]
        return " ".join(words[:size])

    def _different(self, count: int, queries: Iterator[str]) -> list[str]:
        different: dict[str, None] = {}
        for _ in range(count * 50):
            query = next(queries)
            if _is_plain(query) and _is_readable(query):
                different[query] = None
            if len(different) == count:
                break
        return list(different)
