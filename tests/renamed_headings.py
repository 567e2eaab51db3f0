"""Vaults with links to headings, and the faults after the edits that rename a heading."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from other_reader import Reader, find_heading, headings, plain_heading, read_links
from renamed_vaults import Links, Made, Maker, Written, applied
from vaultseek.core.notes.rename import Edit

TEXTS = (
    *("Alarm", "Both dead?", "A & B", "a-b", "C#", "Über uns", "Uber uns", "🚀 Plan", "🧗 Plan", "100% sure"),
    *(
        'The "x"',
        "it's",
        "`code` x",
        "**bold** y",
        "v1.2 (draft)",
        "a  b",
        "दिन",
        "दान",
        "x_y_z",
        "a/b",
        "$5 or $6",
    ),
    *(
        "Part: two",
        "&amp; more",
        "See [it](https://a.b)",
        "[ ] open",
        "?",
        "Alarm #2",
        "日本 語",
        "x^y",
        "\\*x\\*",
    ),
)
NEW_TEXTS = (
    *(text for text in TEXTS if text != "?"),  # nested under another heading, a lone sign names no heading
    *(
        "New [left]",
        "a|b",
        "C #",
        "- list",
        "1. one",
        "> quote",
        "%%x%%",
        "<b>x</b>",
        "#",
        "x ]] y",
        "Alarm!",
    ),
)


class HeadingMaker(Maker):
    """A generator of vaults in which links lead to headings."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.of_notes: dict[str, list[tuple[int, str]]] = {}

    def headings(self, path: str) -> list[tuple[int, str]]:
        """Return the levels and texts of the headings in this file that links may lead to."""
        pick = self.random
        if path not in self.of_notes:
            levels = [pick.choice([1, 2, 2, 3]) for _ in range(pick.randint(1, 5))]
            self.of_notes[path] = [(level, pick.choice(TEXTS)) for level in levels]
            if pick.random() < 0.3:
                self.of_notes[path].append((1, f"{pick.choice(TEXTS)}\nmore"))
        return self.of_notes[path]

    def of_file(self, path: str, files: Mapping[str, Sequence[str]], written: Written) -> Links:
        """Return the link generator of one file."""
        return HeadingLinks(self, path, files, written)

    def renames(self, made: Made) -> Iterator[tuple[str, str, str]]:
        """Yield notes, their headings and new texts for these."""
        pick = self.random
        for path in sorted(self.of_notes.keys() & {each.path for each in made.written}):
            if path.endswith(".md") and not path.endswith(".excalidraw.md"):
                for _, text in self.of_notes[path]:
                    yield path, text, pick.choice(NEW_TEXTS)


class HeadingLinks(Links):
    """The links of one file, with the positions of their fragments."""

    maker: HeadingMaker

    def fragment(self, goal: str) -> str:
        """Return a fragment of a link to this file."""
        pick, texts = self.pick, self.maker.headings(goal)
        at = pick.randrange(len(texts))
        names = [re.sub(r"[#|^\[\]\\\n]|%%", " ", text) for _, text in texts]
        if at + 1 < len(texts) and texts[at + 1][0] > texts[at][0] and pick.random() < 0.3:
            return f"{names[at]}#{names[at + 1]}"
        return pick.choice([names[at], names[at], names[at].swapcase(), "^b1", "nowhere"])

    def wikilink(self) -> str:
        """Return the inner part of a wikilink."""
        target = "" if self.pick.random() < 0.2 else self.wikilink_target()
        goal = self.reader.find(target, self.path) or self.path
        return f"{target}#{self.slot(self.fragment(goal))}{self.pick.choice(['', '|shown'])}"

    def address(self, *, angle: bool = False) -> str:
        """Return the destination of a Markdown link."""
        token = super().address(angle=angle).partition("#")[0]
        raw = self.written.slots.pop(self.maker.count)
        goal = self.reader.find(read_links("x.md", f"[t1](<{raw}>)")[1].target, self.path)
        text = self.fragment(goal or self.path)
        slug = re.sub(r"[^\w\- ]", "", text.casefold()).strip().replace(" ", "-")
        assert token
        return f"{raw}#{self.slot(self.pick.choice([quote(text), slug or quote(text)]))}"

    def card(self) -> dict[str, str]:
        """Return the fields of a card that shows part of a file."""
        goal = self.goal()
        return {"file": goal, "subpath": f"#{self.slot(self.fragment(goal))}"}

    def headings(self) -> str:
        """Return the headings of this note."""
        lines = []
        for level, text in self.maker.headings(self.path):
            self.number()
            token, marks = self.slot(text), "#" * level
            underlined = level < 3 and not re.match(r"[\[?]", text) and self.pick.random() < 0.3
            if "\n" in text or underlined:
                lines.append(f"{token}\n{'=-'[level - 1] * 4}\n\ntext\n")
            else:
                lines.append(f"{marks} {token}{self.pick.choice(['', '', f' {marks}', '  '])}\n")
        return "\n".join(lines)


class HeadingJudge:
    """A vault before headings are renamed. It finds the faults in the edits of one rename."""

    def __init__(self, made: Made) -> None:
        self.made = made
        self.reader = Reader(made.files)
        self.raw = {each.path: each.raw() for each in made.written}
        self.links = {path: read_links(path, text) for path, text in self.raw.items()}
        self.headings = {path: headings(text) for path, text in self.raw.items() if path.endswith(".md")}

    def may_be(self, path: str, new: str) -> bool:
        """True if no other heading of the note could be mistaken for one with this text."""
        return plain_heading(new) not in {plain_heading(text) for _, text in self.headings[path]}

    def faults(
        self, path: str, at: int, new: str, edits: Sequence[Edit], left: Sequence[str]
    ) -> Iterator[str]:
        """Yield the faults after the edits that change the text of a note's heading number ``at``."""
        texts = {
            each: applied(text, (edit for edit in edits if edit.path == each))
            for each, text in self.raw.items()
        }
        after = {each: headings(texts[each]) for each in self.headings}
        read, levels = after[path][at][1].strip(), [level for level, _ in after[path]]
        if read != new or levels != [level for level, _ in self.headings[path]]:
            yield f"{path}: the headings are {after[path]}"
        for file in self.made.written:
            if file.changed_besides(texts[file.path]):
                yield f"{file.path}: more than links changed: {texts[file.path]}"
            if file.path in left:
                yield f"{file.path}: does not follow"
            links = read_links(file.path, texts[file.path])
            for number, link in self.links[file.path].items():
                goal = self.reader.find(link.target, file.path)
                was = find_heading(link.fragment, self.headings.get(goal or "", []))
                now = links.get(number)
                leads = now and find_heading(now.fragment, after.get(goal or "", []))
                same = now == link if was is None else leads == was
                if not same:
                    yield f"{file.path}: link {number}, {link} to {was} has become {now} to {leads}"
