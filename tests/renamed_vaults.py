"""Vaults with links of every form, renames in them, and the faults after the edits of a rename.

A number determines a vault and its renames. The position of each link's target is known; no byte around it
may change. ``other_reader`` finds and follows the links before and after.
"""

import html
import json
import posixpath
import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from yaml import YAMLError

from other_reader import Found, Reader, fold, full_path, is_path, page, properties, read_links
from vaultseek.core.notes.rename import Edit

FOLDERS = ("", "", "x", "y/x", "a b", "Ünit", "it's (1)", "100%", "[wip] c#")
NAMES = (
    *("Pump", "Pump", "pump station", "Bob's note", 'The "x" note', "A&B", "A&amp;B", "a (1)", "(draft"),
    *("c<d>", "100% done", "100%41", "%20", "what?", "Café", "Cafe\u0301", "日本 語", "🧗 climb", "a  b"),
    *("v1.2 notes", "Mr.", "x..y", "scan.pdf", "name.md", "-lead", "--- x", "- dash", "> quote"),
    *("key: value", "{x}", "!bang", "*star*", "_under_", "~~gone~~", "`tick`", "one`", "$5 or $6", "@at"),
    *("http: x", "a, b", "null", "12", "x___y", "semi%3Fcolon", " lead", "trail ", "+plus", "a=b;c"),
    *("&anchor", "ﬁn", "ẞtraße", "NB\u00a0SP"),
)  # fmt: skip
UNLINKABLE = ("a#b", "[x] y", "x^y", "a|b", "50%% off")
OTHERS = (".png", ".pdf", ".tar.gz", ".PNG", ".bin")
FOLLOWING = ("md", "canvas", "org")
"""The files whose links are updated; in other files, only their names matter."""
HEADING = "Part one"
TOKEN = re.compile("\ue000([0-9]+)\ue001")
LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass
class Written:
    """A file whose ``text`` has tokens in place of link targets."""

    path: str
    text: str
    slots: dict[int, str] = field(default_factory=dict)
    """The text for each token, by the number of the link."""
    end: str = "\n"
    mark: bool = False

    def raw(self) -> str:
        """Return the text of the file."""
        text = TOKEN.sub(lambda token: self.slots[int(token[1])], self.text)
        return "\ufeff" * self.mark + text.replace("\n", self.end)

    def changed_besides(self, text: str) -> bool:
        """True if ``text`` differs in anything but the targets of links."""
        parts = TOKEN.split("\ufeff" * self.mark + self.text.replace("\n", self.end))
        pattern = "(.*?)".join(map(re.escape, parts[::2]))
        return re.fullmatch(pattern, text, re.DOTALL) is None


@dataclass
class Made:
    """A vault: its files with links, and all files with their aliases."""

    written: list[Written]
    files: dict[str, tuple[str, ...]]
    obsidian: bool

    def on_disk(self) -> dict[str, str]:
        """Return the content of every file."""
        settings = {".obsidian/app.json": "{}"} if self.obsidian else {}
        return {path: "" for path in self.files} | {each.path: each.raw() for each in self.written} | settings


# -- what is wrong after a rename


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Apply the edits of one file as an editor does: the last first, each in place of its old text."""
    body = text.removeprefix("\ufeff")
    starts = [0, *(end.end() for end in LINE_END.finditer(body))]
    free = len(body)
    for edit in sorted(edits, key=lambda edit: edit.place, reverse=True):
        first, last = (starts[edit.place.line - 1] + column for column in edit.place[1:])
        assert last <= free, f"two edits of one place: {edit}"
        assert body[first:last] == edit.old, f"not what is there: {edit}"
        body = body[:first] + edit.new + body[last:]
        free = first
    return text[: len(text) - len(text.removeprefix("\ufeff"))] + body


class Judge:
    """A vault before a rename. It finds the faults in the rename's edits."""

    def __init__(self, made: Made) -> None:
        self.made = made
        self.reader = Reader(made.files)
        self.links = {each.path: read_links(each.path, each.raw()) for each in made.written}

    def faults(self, moves: Mapping[str, str], edits: Sequence[Edit], left: Sequence[str]) -> Iterator[str]:
        """Yield the faults after the edits of a rename."""
        new = dict(zip(self.made.files, moved(self.made.files, moves), strict=True))
        after = Reader({new[path]: aliases for path, aliases in self.made.files.items()})
        yield from (f"{edit} is of no file with links" for edit in edits if edit.path not in self.links)
        for file in self.made.written:
            raw = file.raw()
            try:
                text = applied(raw, (edit for edit in edits if edit.path == file.path))
                links = self.links[file.path] if text == raw else read_links(new[file.path], text)
                same = file.path[-3:] != ".md" or _values(raw) == _values(text)
            except (AssertionError, YAMLError, json.JSONDecodeError) as error:
                yield f"{file.path}: {error!r}"
                continue
            if file.changed_besides(text) or not same:
                yield f"{file.path}: more than links changed: {text}"
            lost = [*self._lost(file, links, new, after)]
            if file.path not in left:
                yield from lost
            elif not lost and file.path.endswith(FOLLOWING):
                yield f"{file.path}: named, but all of its links follow"

    def _lost(
        self, file: Written, links: Mapping[int, Found], new: Mapping[str, str], after: Reader
    ) -> Iterator[str]:
        for number, (target, fragment) in self.links[file.path].items():
            goal = self.reader.find(target, file.path)
            now, fragment_now = links.get(number, (None, fragment))
            if goal is None:
                is_right = now == target
            elif now is None or after.find(now, new[file.path]) != new[goal]:
                is_right = False
            else:
                was = self._manner(file, number, target, file.path, goal)
                if self.made.obsidian and "/" not in target:
                    was -= {"path"}  # Obsidian looks for such a name everywhere
                leads = after.find(target, new[file.path]) == new[goal]
                stays = leads and (new[file.path], new[goal]) == (file.path, goal)
                is_right = was <= self._manner(file, number, now, new[file.path], new[goal])
                is_right = is_right and (now == target or not stays)
            if not is_right or fragment_now != fragment:
                yield f"{file.path}: link {number} to {target!r}, which is {goal!r}, has become {now!r}"

    def _manner(self, file: Written, number: int, target: str, source: str, goal: str) -> set[str]:
        """Return the ways in which programs that do not search for a target reach a file by it."""
        end = re.sub(r"^(\.{0,2}/)+", "", target)
        manner = {"spelled"} if f"/{goal}".endswith((f"/{end}", f"/{end}.md")) else set()
        if file.path.endswith(".canvas") and f'"n{number}"' in file.text:
            manner |= {"whole path"} if target == full_path(goal) else set()
        elif re.search(rf"t{number}\b[^\[]*\]", file.text):
            is_whole = self.made.obsidian and is_path(target.removeprefix("/"), "", goal)
            is_true = is_whole or is_path(target, source, goal)
            manner |= {"path"} if is_true else set()
        return manner


def _values(text: str) -> Any:
    """Return the frontmatter of a note with every link replaced by one word."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        if isinstance(value, list):
            return [plain(each) for each in value]
        return "link" if isinstance(value, str) and value.lstrip().startswith("[") else value

    return plain(properties(text))


# -- making vaults


class Maker:
    """A generator of vaults: the same number gives the same vault and the same moves."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def vault(self) -> Made:
        """Return a vault."""
        pick = self.random
        files: dict[str, tuple[str, ...]] = {}
        for _ in range(pick.randint(4, 9)):
            name = pick.choice(NAMES if pick.random() < 0.9 else UNLINKABLE)
            self._add(files, f"{pick.choice(FOLDERS)}/{name}.md".lstrip("/"))
        for _ in range(pick.randint(1, 3)):
            self._add(files, f"{pick.choice(FOLDERS)}/{pick.choice(NAMES)}{pick.choice(OTHERS)}".lstrip("/"))
        for path in list(files):
            if path.endswith(".md") and pick.random() < 0.25:
                files[path] = (f"Alias {len(files)}{pick.choice(['', ' é', ' (x)'])}",)
        sources = [path for path in files if path.endswith(".md")]
        for suffix in (".canvas", ".excalidraw.md", ".excalidraw", ".base", ".org", ".html"):
            if pick.random() < (0.7 if suffix == ".canvas" else 0.25):
                path = f"{pick.choice(FOLDERS)}/{pick.choice(['Map', 'pump'])}{suffix}".lstrip("/")
                if self._add(files, path):
                    sources.append(path)
        made = Made([], files, obsidian=pick.random() < 0.5)
        made.written = [self._file(path, files) for path in sources]
        return made

    def moves(self, made: Made) -> dict[str, str]:
        """Return a rename of one or several files or folders."""
        pick = self.random
        files = list(made.files)
        old = pick.choice(files)
        folder, _, name = old.rpartition("/")
        stem, suffix = _split(name)
        kind = pick.randrange(8)
        if kind == 7 and folder:
            top = folder.split("/")[0]
            new = pick.choice([f"{top} 2", top.swapcase(), f"in/{top}", "x/y", "Ünit", "U\u0308nit"])
            moves = {top: new}
        elif kind == 6:
            other = pick.choice(files)
            moves = {old: other, other: old} if _split(other)[1] == suffix and other != old else {}
        else:
            names = {
                0: pick.choice(NAMES),
                1: stem,
                2: stem,
                3: pick.choice(NAMES),
                4: pick.choice([stem.swapcase(), stem.upper(), stem.lower(), stem.title()]),
                5: unicodedata.normalize(pick.choice(["NFC", "NFD"]), stem),
            }
            kind = kind % 6
            place = folder if kind in (0, 4, 5) else pick.choice([*FOLDERS, "new", "new/er"])
            moves = {old: f"{place}/{names[kind]}{suffix}".lstrip("/")}
        after = moved(made.files, moves)
        is_free = len({fold(path) for path in after}) == len(made.files)
        return moves if (is_free and after.keys() != made.files.keys()) or len(moves) == 2 else {}

    def of_file(self, path: str, files: Mapping[str, Sequence[str]], written: Written) -> "Links":
        """Return the link generator of one file."""
        return Links(self, path, files, written)

    def _add(self, files: dict[str, tuple[str, ...]], path: str) -> bool:
        free = fold(path) not in map(fold, files) and len(path.encode()) < 200
        if free:
            files[path] = ()
        return free

    # -- files

    def _file(self, path: str, files: Mapping[str, Sequence[str]]) -> Written:
        pick, suffix = self.random, path.rpartition(".")[2]
        written = Written(path, "", end=pick.choice(["\n", "\n", "\r\n"]), mark=pick.random() < 0.1)
        links = self.of_file(path, files, written)
        if suffix in ("canvas", "excalidraw"):
            written.mark = False
            written.end = "\n"
            written.text = links.canvas() if suffix == "canvas" else links.drawing()
        elif suffix == "org":
            written.text = links.org()
        elif suffix == "base":
            written.text = links.base()
        elif suffix == "html":
            written.text = links.page()
        else:
            written.text = links.note(files[path])
        return written


def _split(name: str) -> tuple[str, str]:
    suffix = next((each for each in (".tar.gz", ".excalidraw.md") if name.endswith(each)), None)
    suffix = suffix or posixpath.splitext(name)[1]
    return name[: len(name) - len(suffix)], suffix


def moved(files: Mapping[str, Any], moves: Mapping[str, str]) -> dict[str, Any]:
    """Return the files of a vault after the moves of files and folders."""

    def new(path: str) -> str:
        if path in moves:
            return moves[path]
        inside = (old for old in moves if path.startswith(f"{old}/"))
        return next((moves[old] + path[len(old) :] for old in inside), path)

    return {new(path): value for path, value in files.items()}


class Links:
    """The links of one file."""

    def __init__(self, maker: Maker, path: str, files: Mapping[str, Sequence[str]], written: Written) -> None:
        self.maker, self.pick, self.path, self.files, self.written = maker, maker.random, path, files, written
        self.reader = Reader(files)

    def slot(self, raw: str) -> str:
        """Return the token of a new position where ``raw`` is written."""
        self.written.slots[self.maker.count] = raw
        return f"\ue000{self.maker.count}\ue001"

    def number(self) -> int:
        self.maker.count += 1
        return self.maker.count

    def goal(self) -> str:
        return self.pick.choice(list(self.files))

    # -- targets

    def wiki(self) -> str:
        """Return a target in the form of a wikilink."""
        pick, goal = self.pick, self.goal()
        if pick.random() < 0.06:
            return pick.choice(["nowhere", "x/nowhere", "Pump 7"])
        parts = goal.split("/")
        forms = ["/".join(parts[at:]) for at in range(len(parts))] + [goal, goal, f"/{goal}"]
        relative = posixpath.relpath(goal, posixpath.dirname(self.path) or ".")
        forms += [relative if relative.startswith("../") else f"./{relative}", page(goal), *self.files[goal]]
        forms += [form.removesuffix(".md") for form in forms]
        forms += [pick.choice(forms).swapcase(), unicodedata.normalize("NFD", pick.choice(forms))]
        forms += [unicodedata.normalize("NFC", pick.choice(forms)), pick.choice(forms).replace("\u00a0", " ")]
        return pick.choice([f for f in forms if f and self.reader.find(f, self.path) == goal] or ["nowhere"])

    def wikilink(self) -> str:
        """Return the inner part of a wikilink: target, fragment, alias."""
        target = self.wiki()
        while re.search(r"[\[\]|#^\\\n]", target):
            target = self.wiki()
        rest = self.pick.choice(["", "", f"#{HEADING}", "#^b1"])
        return self.slot(target) + rest + self.pick.choice(["", "", "|shown", "|shown [x"])

    def address(self, *, angle: bool = False) -> str:
        """Return the destination of a Markdown link."""
        pick, goal = self.pick, self.goal()
        relative = posixpath.relpath(goal, posixpath.dirname(self.path) or ".")
        target = pick.choice([relative, relative, f"./{relative}", goal, f"/{goal}", self.wiki()])
        if target.startswith("./../"):
            target = relative
        raw = _encoded(target, pick, angle=angle)
        return self.slot(raw) + pick.choice(["", "", "#Part-one", "#^b1"])

    # -- links in text

    def inline(self, *, in_table: bool = False) -> str:
        """Return a link in a line of text."""
        n, pick = self.number(), self.pick
        kind = pick.randrange(9)
        if kind < 5:
            link = f"q{n}:{pick.choice(['', '', '!'])}[[{self.wikilink()}]]"
            return link.replace("|", "\\|") if in_table else link
        link = [
            lambda: f"[t{n}]({self.address()})",
            lambda: f"![t{n}]({self.address()})",
            lambda: f"[t{n}](<{self.address(angle=True)}>)",
            lambda: f"[t{n} *b*]( {self.address()} 'title')",
            lambda: f"[![](https://a.b/c.png)t{n}]({self.address()})",
            lambda: f'[t{n}](<{self.address(angle=True)}> "<t>")',
        ][pick.randrange(6)]()
        return link.replace("|", "%7C") if in_table else link

    def text(self, *, in_table: bool = False) -> str:
        """Return a line of text with links, and with text that only looks like one."""
        signs = [
            "word",
            "🧗 e\u0301",
            "`[[decoy]]`",
            "\\[[decoy]]",
            "**bold**",
            "#tea",
            "é",
            "a ] b",
            "`x`",
            "5 $",
        ]
        parts = [self.pick.choice(signs) for _ in range(self.pick.randint(1, 3))]
        parts.insert(self.pick.randrange(len(parts) + 1), self.inline(in_table=in_table))
        if self.pick.random() < 0.2:
            parts.append(self.inline(in_table=in_table))
        return " ".join(parts)

    def block(self) -> str:
        """Return a block of Markdown with links."""
        n, pick = self.number(), self.pick
        return [
            self.text,
            lambda: f"word {self.text()}\nand {self.text()}",
            lambda: f"# {self.text()}",
            lambda: f"## {self.text()} ##",
            lambda: f"word {self.text()}\n{'=' * 5}",
            lambda: f"word {self.text()}\nmore {self.text()}  \nlast {self.text()}\n---",
            lambda: f"- {self.text()}\n  1. {self.text()}\n     {self.text()}\n\n  {self.text()}",
            lambda: f"- [ ] {self.text()}\n* [x] {self.text()}",
            lambda: f"> {self.text()}\n>> {self.text()}\n> {self.text()}",
            lambda: f"> [!note]- Title {self.text()}\n> {self.text()}\n> - {self.text()}",
            lambda: (
                f"| a | b |\n| --- | --- |\n| {self.text(in_table=True)} | x |\n"
                f"| `x` | {self.text(in_table=True)} |"
            ),
            lambda: f"> | a | b |\n> | --- | --- |\n> | x | {self.text(in_table=True)} |",
            lambda: f"see [^{n}]\n\n[^{n}]: see {self.text()}",
            lambda: f"[t{n}][r{n}] and [t{n}]\n\n[r{n}]: {self.address()}",
            lambda: f"[r{n}]: <{self.address(angle=True)}>\n  'title'\n\n> ![t{n}][R{n}] or [t{n}][r{n}]",
            lambda: f'> [t{n}]\n>\n> [t{n}]:\n>   {self.address()} "title"',
            lambda: f"- [two\n  lines t{n}]({self.address()})",
            lambda: f"[t{n}](\n{self.address()})",
            lambda: "```\n[[decoy]] [x](decoy.md)\n```",
            lambda: "    [[decoy]]",
            lambda: "$$\n[[decoy]]\n$$",
            lambda: f"up:: {self.inline()}",
            lambda: f"**{self.inline()}** ==_{self.inline()}_==",
        ][pick.randrange(23)]()

    def body(self, most: int) -> str:
        return "\n\n".join(self.block() for _ in range(self.pick.randint(1, most))) + "\n"

    # -- files

    def note(self, aliases: Sequence[str]) -> str:
        """Return a note, or a drawing stored as one."""
        drawing = self.path.endswith(".excalidraw.md")
        front = [f"aliases: [{', '.join(map(json.dumps, aliases))}]"] if aliases else []
        front += ["excalidraw-plugin: parsed"] if drawing else []
        front += [self.property() for _ in range(self.pick.randint(0, 3))]
        head = "---\n" + "\n".join(front) + "\n---\n" if front else ""
        if not drawing:
            return f"{head}{self.body(5)}\n{self.headings()}\nlast ^b1\n"
        texts = f"{self.inline()} ^e1\n\nplain ^e2\n\n"
        n = self.number()
        files = f"## Embedded Files\nabc: q{n}:[[{self.wikilink()}]]\n\n"
        code = '```json\n{"text": "[[decoy]]"}\n```\n'
        return f"{head}\n# Excalidraw Data\n\n## Text Elements\n{texts}{files}%%\n## Drawing\n{code}%%\n"

    def headings(self) -> str:
        """Return the headings that links lead to."""
        return f"# {HEADING}\n"

    def property(self) -> str:
        """Return a property with a link."""
        n, pick = self.number(), self.pick
        value = f"[[{self.wikilink()}]]" if pick.random() < 0.7 else f"[t{n}]({self.address()})"
        if pick.random() < 0.1:
            value = f" {value} "
        single, double = self._quoted(n, value, _single), self._quoted(n, value, _double)
        escaped = self._quoted(n, value, lambda text: json.dumps(text)[1:-1])
        forms = [
            lambda: f"p{n}: {single()}",
            lambda: f"p{n}: {double()} # [[decoy]]",
            lambda: f"p{n}: {escaped()}",
            lambda: f"p{n}: {self._quoted(n, value, _hex)()}",
            lambda: f"p{n}:\n  - x\n  - {single()}",
            lambda: f"p{n}: [x, {double()}, 'y']",
            lambda: f"p{n}: [{single()},{self.pick.choice(['', ' '])}x]",
            lambda: f"p{n}: {{a: {double()}}}",
            lambda: f"p{n}:\n  a: {single()}",
            lambda: f"p{n}:\n-   {double()}",
            lambda: f"p{n}: &a{n} {single()}\nother{n}: *a{n}",
            lambda: f"p{n}: !!str {double()}",
            lambda: f"p{n}:\n  {single()}",
            lambda: f"p{n}: |-\n  {value.strip()}",
            lambda: f"p{n}: >\n    {value.strip()}",
            lambda: f"p{n}:\n  - |\n    {value.strip()}\n  - x",
        ]
        return pick.choice(forms)()

    def _quoted(self, n: int, value: str, form: Callable[[str], str]) -> Callable[[], str]:
        def quoted() -> str:
            parts = TOKEN.split(value)
            self.written.slots[n] = form(self.written.slots[n])
            quotation = "'" if form is _single else '"'
            return f"{quotation}{form(parts[0])}\ue000{parts[1]}\ue001{form(parts[2])}{quotation}"

        return quoted

    def canvas(self) -> str:
        """Return a canvas."""
        pick = self.pick
        nodes: list[dict[str, Any]] = []
        place = {"x": 0, "y": 0, "width": 9, "height": 9}
        for _ in range(pick.randint(2, 6)):
            n = self.number()
            kind = pick.randrange(5)
            if kind < 2:
                nodes.append({"id": f"n{n}", "type": "file", **self.card(), **place})
            elif kind == 2:
                name = {"backgroundStyle": "cover", "label": "G"}
                picture = next((path for path in self.files if path.lower().endswith(".png")), "gone.png")
                nodes.append(
                    {"id": f"n{n}", "type": "group", "background": self.slot(picture), **name, **place}
                )
            elif kind == 3:
                nodes.append({"id": f"n{n}", "type": "file", "file": self.slot("x/nowhere.md"), **place})
            else:
                nodes.append({"id": f"c{n}", "type": "text", "text": self.body(2), **place})
        ends = [node["id"] for node in nodes]
        edges = [{"id": "e", "fromNode": ends[0], "toNode": ends[-1], "label": "[[decoy]]"}]
        return self._dumped({"nodes": nodes, "edges": edges})

    def card(self) -> dict[str, str]:
        """Return the fields of a card that shows a file."""
        part = {"subpath": f"#{HEADING}"} if self.pick.random() < 0.3 else {}
        return {"file": self.slot(self.goal()), **part}

    def _dumped(self, value: Any) -> str:
        ascii_only = self.pick.random() < 0.5
        for n, raw in self.written.slots.items():
            self.written.slots[n] = json.dumps(raw, ensure_ascii=ascii_only)[1:-1]
        indent = self.pick.choice([None, "\t", 2])
        text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
        return text.replace("\\ue000", "\ue000").replace("\\ue001", "\ue001")

    def drawing(self) -> str:
        """Return a drawing of Excalidraw in JSON."""
        n = self.number()
        link = {"id": f"n{n}", "type": "rectangle", "link": f"[[{self.slot(self.wikilink_target())}]]"}
        return self._dumped({"type": "excalidraw", "elements": [link]})

    def wikilink_target(self) -> str:
        target = self.wiki()
        while re.search(r"[\[\]|#^\\\n]", target):
            target = self.wiki()
        return target

    def org(self) -> str:
        """Return an Org file."""
        n, goal = self.number(), self.goal()
        while re.search(r"[\[\]]|::", goal):
            goal = self.goal()
        target = posixpath.relpath(goal, posixpath.dirname(self.path) or ".")
        return f"* Head\nsee [[file:{self.slot(target)}][t{n}]] here\n"

    def base(self) -> str:
        """Return a base."""
        n, name = self.number(), self.pick.choice(["file.hasLink", "link"])
        target = self.wikilink_target().replace("'", "’").replace('"', "”")
        return f"filters:\n  and:\n    - 'q{n} || {name}(\"{self.slot(target)}\")'\n"

    def page(self) -> str:
        """Return an HTML page."""
        n = self.number()
        goal = posixpath.relpath(self.goal(), posixpath.dirname(self.path) or ".")
        address = self.slot(html.escape(quote(goal)))
        return f'<html><body><p>See <a href="{address}">the t{n} of words</a> of the house</p></body></html>'


def _encoded(target: str, pick: random.Random, *, angle: bool) -> str:
    """Return a target as a Markdown destination, in one of many encodings."""
    kind = pick.randrange(6)
    if kind == 0:
        return quote(target)
    if angle and kind == 1:
        return re.sub(r"([:<>\\%#&])", lambda sign: f"%{ord(sign[0]):02X}", target)
    if kind == 2 and not angle:
        plain = re.sub(r"[:\s%#&?<>]", lambda sign: quote(sign[0], ""), target)
        return re.sub(r"([()\\*_`~!\"'|\[\]])", r"\\\1", plain)
    if kind == 3:
        plain = re.sub(r"[:%#<>()\\|\[\]]", lambda sign: quote(sign[0], ""), target)
        return (
            re.sub(r"[&'\"é]", lambda sign: f"&#{ord(sign[0])};", plain) if angle else quote(target, "/&';,")
        )
    unsafe = r"[:%#&<>\\|\[\]`\"\n]" if angle else r"[:\s%#&<>()\\|\[\]`\"*_]"
    return re.sub(unsafe, lambda sign: quote(sign[0], ""), target)


def _single(text: str) -> str:
    return text.replace("'", "''")


def _double(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _hex(text: str) -> str:
    return (
        _double(text[:1]) + f"\\u{ord(text[1]):04x}" + _double(text[2:])
        if text[1:2].isalpha()
        else _double(text)
    )
