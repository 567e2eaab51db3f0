"""An independent reader of links: it finds them with other parsers and follows them slowly.

``read_links`` finds the targets in a file with markdown-it, PyYAML and json. ``Reader`` follows them by the
rules in ``content/markdown/resolve.py``, implemented a second time. A link has a number: ``q1:`` before
double brackets, ``t1`` in the text of a Markdown link, ``p1`` as the name of a property, ``n1`` as the id of
a card.
"""

import json
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import unquote

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

# -- following links


def fold(text: str) -> str:
    """Return a name in the form used for comparison."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return re.sub("[\u00a0\u2007\u202f]", " ", folded)


class Reader:
    """The files of a vault, to look up the file of a target."""

    def __init__(self, files: Mapping[str, Sequence[str]]) -> None:
        self.files = files
        self.folded = {path: fold(path) for path in files}

    def find(self, target: str, source: str) -> str | None:
        """Return the file that a target in the file ``source`` leads to."""
        target = target.strip()
        if not target:
            return source
        for form in (target, f"{target}.md"):
            if found := self._literal(form, source):
                return found
        if target.startswith(("/", "./", "../")):
            return None
        if "/" not in target:
            alias = (path for path, names in self.files.items() if fold(target) in map(fold, names))
            if found := self._nearest(alias, source):
                return found
        return self._nearest((path for path in self.files if fold(page(path)) == fold(target)), "")

    def _literal(self, target: str, source: str) -> str | None:
        wanted = fold(target)
        if target.startswith(("/", "./", "../")):
            start = "" if target.startswith("/") else posixpath.dirname(fold(source))
            path = posixpath.normpath(posixpath.join(start, wanted.lstrip("/")))
            return self._spelled((each for each, name in self.folded.items() if name == path), target)
        exact = [each for each, name in self.folded.items() if name == wanted]
        if exact:
            return self._spelled(exact, target)
        ending = [each for each, name in self.folded.items() if name.endswith(f"/{wanted}")]
        return self._nearest(ending, source)

    def _spelled(self, paths: Iterable[str], target: str) -> str | None:
        name = target.rpartition("/")[2]
        return min(paths, key=lambda path: (posixpath.basename(path) != name, len(path), path), default=None)

    def _nearest(self, paths: Iterable[str], source: str) -> str | None:
        folder = posixpath.dirname(self.folded.get(source, fold(source)))
        below = f"{folder}/" if folder else ""

        def order(path: str) -> tuple[bool, int, str]:
            return not self.folded[path].startswith(below), len(unicodedata.normalize("NFC", path)), path

        return min(paths, key=order, default=None)


def page(path: str) -> str:
    """Return the Logseq page of a file; "" if it is not one."""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    name = re.sub("(?<=[^_])___(?=[^_])", "/", stem)
    name = re.sub("%(?:2[25AF]|3[ACEF]|5C|7C)", lambda sign: unquote(sign[0]), name, flags=re.IGNORECASE)
    return "" if name == stem else name


def is_path(target: str, source: str, path: str) -> bool:
    """True if a target is the exact path to a file from another file's folder."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return joined in (path, path.removesuffix(".md"))


# -- finding links

_WIKI = re.compile(r"q(\d+):!?\[\[((?:(?!\]\])[^\[|#\n])*)(#[^|\n]*?)?(?:\|[^\n]*?)?\]\]")
_PROPERTY = re.compile(r"\[\[([^|#]*)(#[^|]*)?(\|.*)?\]\]")
_ORG = re.compile(r"\[\[(?:file:)?((?:(?!::)[^\]])*)(?:::[^\]]*)?\]\[t(\d+)\]\]")
_BASE = re.compile(r"q(\d+) \|\| (?:file\.hasLink|link)\(\\?[\"'](.*?)\\?[\"']\)")


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable("table")


class Found(NamedTuple):
    """A link as a reader understands it, decoded: the target, and the fragment without its sign."""

    target: str
    fragment: str = ""


FoundLinks = dict[int, Found]


def read_links(path: str, text: str) -> FoundLinks:
    """Return the links in a file by their numbers."""
    suffix = path.rpartition(".")[2]
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if suffix == "md":
        front, body = _parted(text)
        return _of_properties(front) | _of_markdown(body)
    if suffix in ("canvas", "excalidraw"):
        return _of_nodes(json.loads(text))
    if suffix == "org":
        return {int(number): Found(target) for target, number in _ORG.findall(text)}
    if suffix == "base":
        return {int(number): Found(target) for number, target in _BASE.findall(text)}
    if suffix == "html":
        page = _Page()
        page.feed(text)
        return page.links
    return {}


def properties(text: str) -> Any:
    """Return the frontmatter of a note. Raises YAMLError."""
    return yaml.safe_load(_parted(text.removeprefix("\ufeff").replace("\r\n", "\n"))[0])


def _parted(text: str) -> tuple[str, str]:
    match = re.match(r"---\n(.*?\n)---\n", text, re.DOTALL)
    return (match[1], text[match.end() :]) if match else ("", text)


def headings(text: str) -> list[tuple[int, str]]:
    """Return the level and the text of each heading of a note outside quotes and lists."""
    tokens = _markdown().parse(_parted(text.removeprefix("\ufeff").replace("\r\n", "\n"))[1])
    return [
        (int(token.tag[1:]), tokens[at + 1].content)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def find_heading(fragment: str, headings: Sequence[tuple[int, str]]) -> int | None:
    """Return the number of the heading for a fragment, which may include parent headings."""

    def find(parts: Sequence[str], start: int, end: int) -> int | None:
        plain = [at for at in range(start, end) if plain_heading(headings[at][1]) == plain_heading(parts[0])]
        for at in sorted(plain, key=lambda at: fold(headings[at][1]).split() != fold(parts[0]).split()):
            below = (each for each in range(at + 1, end) if headings[each][0] <= headings[at][0])
            found = at if len(parts) == 1 else find(parts[1:], at + 1, next(below, end))
            if found is not None:
                return found
        return None

    whole = find([fragment], 0, len(headings))
    return find(fragment.split("#"), 0, len(headings)) if whole is None else whole


def plain_heading(text: str) -> str:
    """Return a heading without punctuation, unless it contains nothing else."""
    signs = (" " if is_sign(sign) else sign for sign in fold(text))
    return " ".join("".join(signs).split()) or " ".join(fold(text).split())


def is_sign(sign: str) -> bool:
    """True for a character that does not distinguish headings."""
    return not sign.isalnum() and (sign.isascii() or unicodedata.category(sign)[0] == "P")


def _of_properties(front: str) -> FoundLinks:
    links: FoundLinks = {}
    for key, value in (yaml.safe_load(front) or {}).items():
        values = value if isinstance(value, list) else [value]
        inner = [each for item in values for each in (item.values() if isinstance(item, dict) else [item])]
        for each in inner:
            if not (re.fullmatch("p[0-9]+", str(key)) and isinstance(each, str)):
                continue
            if match := _PROPERTY.fullmatch(each.strip()):
                links[int(key[1:])] = _found(match[1], match[2])
            else:
                links |= _of_markdown(each.strip())
    return links


def _found(target: str, fragment: str | None) -> Found:
    return Found(target.strip(), (fragment or "").removeprefix("#").strip())


def _of_markdown(body: str) -> FoundLinks:
    links: FoundLinks = {}
    # A link in double brackets is read before code, as in Obsidian: a name may contain a backtick.
    body = re.sub(r"q\d+:!?\[\[[^\n]*?\]\]", lambda link: link[0].replace("`", "\ue002"), body)
    for token in _markdown().parse(body):
        if token.type != "inline":
            continue
        children = token.children or []
        eaten = "".join(child.content for child in children if child.type == "code_inline")
        for match in _WIKI.finditer(token.content):
            if "[[" not in eaten.replace("[[decoy]]", ""):
                inside = (each and each.replace("\ue002", "`") for each in match.groups()[1:])
                links[int(match[1])] = _found(*inside)
        for number, address in _addresses(children):
            target, _, fragment = address.partition("#")
            links[number] = Found(unquote(target), unquote(fragment))
    return links


def _addresses(children: Sequence[Token]) -> Iterator[tuple[int, str]]:
    opened: list[tuple[str, str]] = []
    for child in children:
        if child.type == "link_open":
            opened.append((str(child.attrs["href"]), ""))
        elif child.type == "link_close":
            address, label = opened.pop()
            if match := re.search(r"t(\d+)", label):
                yield int(match[1]), address
        elif child.type == "image" and (match := re.search(r"t(\d+)", child.content)):
            yield int(match[1]), str(child.attrs["src"])
        elif opened:
            opened[-1] = opened[-1][0], opened[-1][1] + child.content


def _of_nodes(drawing: Any) -> FoundLinks:
    links: FoundLinks = {}
    for node in drawing.get("nodes") or drawing.get("elements"):
        number = re.fullmatch(r"n(\d+)", node["id"])
        for name in ("file", "background"):
            if number and name in node:
                links[int(number[1])] = Found(
                    full_path(node[name]), node.get("subpath", "").removeprefix("#")
                )
        if number and "link" in node and (match := _PROPERTY.fullmatch(node["link"])):
            links[int(number[1])] = Found(match[1])
        if "text" in node:
            links |= _of_markdown(node["text"])
    return links


def full_path(path: str) -> str:
    """Return a link target that leads to ``path``, even if the path begins with a space."""
    return f"/{path}" if path.startswith(" ") else path


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: FoundLinks = {}
        self.address = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.address = dict(attrs).get("href") or self.address

    def handle_data(self, data: str) -> None:
        if match := re.search(r"t(\d+)", data):
            self.links[int(match[1])] = Found(unquote(self.address.partition("#")[0]))
