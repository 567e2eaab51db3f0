"""Grammars for expensive patterns, formulas, bases, app settings and files of every kind, for the fuzzer."""

import json
from collections.abc import Callable, Iterator
from random import Random

ATOMS = [
    "a",
    ".",
    r"\w",
    r"\d+",
    "[a-z]",
    "[^b]",
    "[)]",
    r"\(",
    r"\p{L}",
    r"\p",
    r"\N",
    "é",
    "^",
    "$",
    r"\b",
    "(?:x*)",
    "(?:(?R)?)",
    "(?:(?P&n)?)",
    "(?:(?-1)?)",
    "(?+1)?",
    "a" * 190,
    "a" * 900,
    "(?:a|b)" * 100,
]
GROUPS = [
    "({})",
    "(?:{})",
    "(?>{})",
    "(?={})",
    "(?<={})",
    "(?!{})",
    "(?i:{})",
    "(?P<n>{})",
    "(?#()({})",
]
REPEATS = ["*", "+", "?", "*?", "++", "{3}", "{100}", "{1000}", "{1,100}", "{100,}", "{9999,}", "{e<=3}"]
LETTERS = ["a", "ж"]
MANY = "".join(map(chr, range(0x3B1, 0x4B0)))
"""Letters with two cases."""
SIZES = [190, 900, 9000]
"""Numbers of characters: around the maximum that the daemon compiles itself, and up to the largest
allowed."""
SHAPES: dict[str, Callable[[str, int], str]] = {
    "a run": lambda letter, size: letter * size,
    "a run behind a lazy repeat": lambda letter, size: r"\d*?" + letter * size,
    "a run behind a greedy repeat": lambda letter, size: f"[^x]*{letter * size}[xy]",
    "a run behind one that is looked back at": lambda letter, size: f"(?<={letter * size})x?",
    "a run that a group hides": lambda letter, size: f"(?:{letter}{{1}}){letter}" * (size // 10) + letter,
    "a run in alternatives": lambda letter, size: "|".join([letter * size] * 3),
    "a run of equal alternatives": lambda letter, size: f"(?:{letter}|{letter})" * (size // 6),
    "a run of empty repeats": lambda letter, size: f"(?:)*{letter}" * (size // 6),
    "runs": lambda letter, size: "|".join([f"{letter * 190}{end}" for end in MANY[: size // 190]]),
    "a set": lambda letter, size: f"[{repeated(MANY, size)}{letter}]*[xy]",
    "a set that is negated": lambda letter, size: f"[^{repeated(MANY, size)}]*?[xy]",
    "properties": lambda letter, size: "[^" + r"\pM" * (size // 3) + "]*?[xy]",
    "ranges": lambda letter, size: f"[{repeated('à-êō-ž', size)}{letter}]*[xy]",
    "alternatives": lambda letter, size: f"(?:{'|'.join(repeated(MANY, size))}|{letter})*[xy]",
    "words": lambda letter, size: "|".join(f"{letter}{number}" for number in range(size // 6)),
    "optional groups": lambda letter, size: f"({letter})?" * (size // 5),
    "groups in groups": lambda letter, size: "(" * (size // 3) + letter + ")*" * (size // 3),
    "repeats in repeats": lambda letter, size: f"(?:{letter}+b?)+" * (size // 12) + "[xy]",
    "counts": lambda letter, size: f"(?:{letter}{{1,{size}}}){{1,9}}[xy]",
    "least counts": lambda letter, size: f"(?:{letter}{{{size}}})+[xy]",
    "references": lambda letter, size: f"({letter}+)b?" + r"\1" * (size // 3) + "[xy]",
    "lookarounds": lambda letter, size: f"(?:(?=.*[^z]*)(?<![z]*{letter}z){letter})*[xy]",
    "atomic groups": lambda letter, size: f"(?>(?>[^z]*){letter}*)*" * (size // 20) + "[xy]",
    "named groups": lambda letter, size: "".join(f"(?P<n{n}>{letter})?" for n in range(size // 12)),
    "fuzzy": lambda letter, size: f"(?:{letter * (size // 9)}){{e<=3}}",
    "comments": lambda letter, size: f"(?#){letter}" * (size // 5),
    "flags": lambda letter, size: f"(?i:{letter})" * (size // 6),
    "open sets": lambda letter, size: "[" * size,
    "escapes": lambda letter, size: r"\b\x61" * (size // 6),
}
"""Patterns of about this many characters, by the reason why they may be expensive."""
FLAGS = [*[""] * 20, "(?i)", "(?f)", "(?V1)", "(?x)", "(?b)", "(?L)"]
LITERALS = [
    "1",
    "1e9",
    "100000",
    "'abc'",
    "''",
    "'a,b'",
    "/a+/g",
    "rating",
    "file.name",
    "file.backlinks",
    "[1, 2]",
]
CALLS = [
    ".repeat({})",
    ".split({})",
    ".join({})",
    ".map({})",
    ".map(value + {})",
    ".filter({})",
    ".reduce(acc + acc, {})",
    ".reduce([acc, acc], {})",
    ".replace('a', {})",
    ".replace(/{}/g, {})",
    ".slice(0, {})",
    ".sort()",
    ".unique()",
    ".flat()",
    ".reverse()",
    ".toString()",
    ".upper()",
    ".length",
    ".contains({})",
    ".matches({})",
]
FORMS = [
    "{} + {}",
    "[{}, {}]",
    "link({}, {})",
    "escapeHTML({})",
    "html({})",
    "if({}, {})",
    "list({})",
    "{{k: {}}}",
]


def repeated(text: str, size: int) -> str:
    """Return a text repeated to this many characters."""
    return (text * (size // len(text) + 1))[:size]


def costly_matches(shape: str, *, every: bool) -> Iterator[str]:
    """Yield patterns of one shape with flags and a text, as JSON: of each size two, or ``every`` one."""
    for turn, size in enumerate(SIZES):
        for place, letter in enumerate(LETTERS):
            found = SHAPES[shape](letter, size)
            for number, flags in enumerate(("", "im")):
                if every or (turn + place + number) % 2 == 0:
                    yield json.dumps([found, flags, letter * 10_000])


def costly_match(chance: Random) -> str:
    """Return a pattern combined from several shapes, with flags and a text, as JSON."""
    letter = chance.choice(LETTERS)
    shapes = chance.sample(list(SHAPES.values()), chance.randrange(1, 4))
    parts = [shape(letter, int(10 ** chance.uniform(0.5, 3.9))) for shape in shapes]
    form = chance.choice(["{}", "(?:{})+", "(?={})", "({})*?x", "(?<={})", "(?:{}){3}"])
    text = chance.choice([letter, f"{letter}b", pattern(chance)]) * int(10 ** chance.uniform(0, 4.5))
    return json.dumps(
        [form.replace("{}", chance.choice(["", "|"]).join(parts)), chance.choice(["", "i", "im"]), text]
    )


def pattern(chance: Random, depth: int = 5) -> str:
    """Return a regular expression, usually one with nested repeats."""
    parts = []
    for _ in range(chance.randrange(1, 4)):
        inner = chance.choice(ATOMS)
        if depth and chance.random() < 0.7:
            inner = chance.choice(GROUPS).replace("{}", pattern(chance, depth - 1))
        parts.append(inner + (chance.choice(REPEATS) if chance.random() < 0.7 else ""))
    return chance.choice(FLAGS) + chance.choice(["", "|"]).join(parts)


def formula(chance: Random, depth: int = 5) -> str:
    """Return a formula, usually one whose value grows."""
    if not depth or chance.random() < 0.1:
        return chance.choice(LITERALS)
    form = chance.choice(FORMS) if chance.random() < 0.3 else "{}" + chance.choice(CALLS)
    while "{}" in form:
        inner = pattern(chance, 2).replace("/", "") if "/{}" in form else formula(chance, depth - 1)
        form = form.replace("{}", inner, 1)
    return form


def base(chance: Random) -> str:
    """Return the YAML of a base with formulas, filters and summaries."""
    formulas = {f"f{number}": formula(chance) for number in range(chance.randrange(1, 5))}
    columns = ["file.name", *(f"formula.{name}" for name in formulas)]
    view = {
        "type": "table",
        "name": "all",
        "order": columns,
        "sort": [{"property": chance.choice(columns), "direction": "DESC"}],
        "summaries": {chance.choice(columns): chance.choice(["Unique", "own"])},
        "filters": {"or": [f"/{pattern(chance)}/.matches(file.name)", formula(chance), "true"]},
    }
    if chance.random() < 0.3:
        view["groupBy"] = chance.choice(columns)
    own = f"values{chance.choice(CALLS)}".replace("{}", formula(chance, 2))
    return json.dumps({"formulas": formulas, "summaries": {"own": own}, "views": [view]})


def app_settings(chance: Random) -> str:
    """Return Obsidian settings with exclusion rules."""
    rules = [f"/{pattern(chance)}/" for _ in range(chance.choice([1, 5, 200]))]
    return json.dumps({"userIgnoreFilters": rules, "newLinkFormat": chance.choice(["relative", 1])})


UNITS = {
    "notes": [
        *(
            "[",
            "]",
            "[[",
            "]]",
            "](",
            "![",
            "(",
            ")",
            "<",
            ">",
            "<!--",
            "-->",
            "%%",
            "`",
            "``",
            "*",
            "**",
            "_",
        ),
        *(
            "~~",
            "==",
            "$",
            "$$",
            "#",
            "#a ",
            "^a",
            "|",
            "\n",
            "\n\n",
            "> ",
            "- ",
            "1. ",
            "\t",
            "    ",
            "a",
            " ",
        ),
        *(
            "&amp;",
            "&",
            "\\",
            "http://",
            "www.",
            "a@b.c",
            ":",
            "::",
            "[^1]",
            "[a]: b\n",
            "---\n",
            "\n# ",
            "```\n",
        ),
        *("<a ", "</a>", "<b>", "é", "漢", "\u200d", "2026-01-01 ", "superseded by ", "- [ ] "),
    ],
    "canvas": [
        '{"id":"a"}',
        ",",
        "[",
        "]",
        "{",
        '"nodes":',
        '{"type":"text","text":"a"}',
        '"',
        "\\u00e9",
        "1",
    ],
    "excalidraw": [
        "{",
        "[",
        '{"type":"text","text":"a"}',
        ",",
        '"elements":',
        '"',
        "\\n",
        "%%\n",
        "# Text Elements\n",
    ],
    "base": [
        "views:\n",
        "  - type: table\n",
        "- ",
        "  ",
        "a: ",
        "&a ",
        "*a ",
        "[",
        "{",
        "}",
        "]",
        '"',
        "\n",
        "a",
        ",",
    ],
    "org": [
        "* ",
        "** ",
        "\n",
        "[[",
        "]]",
        "][",
        "#+BEGIN_SRC\n",
        "#+END_SRC\n",
        ":PROPERTIES:\n",
        ":END:\n",
        "- [ ] ",
        "TODO ",
        ":a:",
        "<2026-01-01>",
        "|",
        "~",
        "=",
        "/",
        "*",
        "a",
        " ",
    ],
    "html": [
        "<b>",
        "</b>",
        "<p>",
        "<div>",
        "</div>",
        "<table>",
        "<tr>",
        "<td>",
        "<ul>",
        "<li>",
        "<a href=x>",
        "</a>",
        "<!--",
        "-->",
        "<",
        ">",
        "&",
        "&amp;",
        "a",
        " ",
        "\n",
        "<script>",
        "<pre>",
        "<br>",
        "<h1>",
        "<img alt=a>",
    ],
    "session": ['{"type":"user","message":{"content":"a"}}\n', "{", "[", '"', "\n", "sk-", "a", "=", " "],
    "pdf": [
        "(a) Tj ",
        "(a b c) Tj 0 -9 Td ",
        "[(a) 900 (b) -900] TJ ",
        "0 0 Td ",
        "0 1 -1 0 50 50 Tm ",
        "BT ",
        "ET ",
        "/F 9 Tf ",
        "q ",
        "Q ",
        "1 1 m 2 2 l S ",
        "[",
        "]",
        "<<",
        ">>",
        "(",
        ")",
        "<61",
        "%a\n",
        "/a ",
        "9 ",
        "/X Do ",
        "BI /W 1 /H 1 ID a EI ",
        "\\(",
        "|",
        "a|",
        "1. a|",
        "a ",
    ],
    "queries": [
        *(
            '"',
            "(",
            ")",
            "-",
            "OR ",
            "AND ",
            "NOT ",
            "a ",
            "a",
            "tag:",
            "tag:a ",
            "path:",
            "/",
            "/a/ ",
            "~",
            "~2 ",
        ),
        *(
            "[",
            "]",
            "[a TO b] ",
            "created:",
            ">",
            "2026-01-01 ",
            "last week ",
            ",",
            ":",
            "*",
            "^2 ",
            "@",
            "é",
            "漢",
        ),
        *("line:(", "section:(", "block:(", "[a:", "[a:b] ", "is:stale ", "\\", "#a ", "in September "),
    ],
    "settings": ["[a]\n", "[[vaults]]\n", "a = 1\n", "a.", "[", "{", '"', "\n", "'", "#", "1", "_", "= "],
    "frames": ["Content-Length: 1\r\n\r\n", "{", "[", '"a":', "1", ",", "}", "]", "\\u0000", " "],
    "app_settings": ['"', "[", "{", ",", '"userIgnoreFilters":', "a", "/", "*", "(", ")"],
}
"""Pieces of each kind of file.

Marked content and forms in forms are left out of PDFs: the library takes more than linear work for them, and
only the limits of the process bound it.
"""
BEGINNINGS = {
    "notes": [
        "",
        "---\na: ",
        "---\n",
        "> ",
        "- ",
        "| a |\n|---|\n| ",
        "# ",
        "```\n",
        "$$\n",
        "<div>\n",
        "> [!a] ",
    ],
    "canvas": [
        "",
        '{"nodes":[',
        '{"nodes":[{"id":"a","type":"text","x":0,"y":0,"width":1,"height":1,"text":"',
    ],
    "excalidraw": ["", '{"elements":[', '{"elements":[{"type":"text","text":"'],
    "base": ["", "views:\n", "filters:\n  and:\n", "formulas:\n  a: "],
    "app_settings": ["", '{"userIgnoreFilters":["', '{"userIgnoreFilters":["/'],
    "pdf": [
        *(
            "content ",
            "content BT /F 9 Tf 9 700 Td ",
            "content BT /F 9 Tf 9 700 Td (",
            "pages ",
            "pages BT (",
        ),
        *("outline ", "outline 1. ", "nested ", "body ", "body 99 0 obj ", "body 99 0 obj <<"),
    ],
    "queries": ["", '"', "(", "tag:", "/", "[a:"],
    "settings": ["", "[search]\n", "a = ", "[vaults"],
}
ENDS = {"canvas": ["", '"}]}', "]}"], "excalidraw": ["", '"}]}', "]}"], "app_settings": ["", '"]}', '/"]}']}


def pdf(text: str) -> bytes:
    """Return a PDF from the name of a place and what it has there, such as ``content (a) Tj``.

    The places are the content of a page, pages, an outline, a nested outline, and the body of the file; ``|``
    separates pages and titles. A title is also a line of the page, numbered if the title is not.
    """
    place, _, rest = text.partition(" ")
    titles = rest.split("|") if place in ("outline", "nested") else []
    contents = rest.split("|") if place == "pages" else [rest if place == "content" else _lines(titles)]
    resources = "/Resources << /Font << /F 4 0 R >> >>"
    pages = [
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 -900000 600 800] {resources} /Contents {number} 0 R >>"
        for number in range(5 + len(contents), 5 + 2 * len(contents))
    ]
    streams = [f"<< /Length {len(each.encode())} >> stream\n{each}\nendstream" for each in contents]
    first = 5 + 2 * len(contents)
    return _file(
        [
            "<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>",
            f"<< /Type /Pages /Count {len(pages)} /Kids [{_references(range(5, 5 + len(pages)))}] >>",
            f"<< /Type /Outlines /First {first} 0 R /Count {len(titles)} >>",
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            *pages,
            *streams,
            *(
                f"<< /Title ({_escaped(title)}) /Parent 3 0 R /Dest [5 0 R /Fit] "
                f"/{'First' if place == 'nested' else 'Next'} {number} 0 R >>"
                for number, title in enumerate(titles, first + 1)
            ),
        ],
        rest if place == "body" else "",
    )


def _lines(titles: list[str]) -> str:
    shown = (f"({_escaped(title if title[:1].isdigit() else f'1. {title}')}) Tj 0 -9 Td" for title in titles)
    return f"BT /F 9 Tf 9 700 Td {' '.join(shown)} ET"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _references(numbers: range) -> str:
    return " ".join(f"{number} 0 R" for number in numbers)


def _file(objects: list[str], more: str) -> bytes:
    """Return the file of some objects; the first one is the catalogue."""
    parts, places, end = ["%PDF-1.7\n"], [], 9
    for number, each in enumerate(objects, 1):
        places.append(end)
        parts.append(f"{number} 0 obj\n{each}\nendobj\n")
        end += len(parts[-1].encode())
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    head = f"{more}\nxref\n0 {len(places) + 1}\n0000000000 65535 f \n"
    trailer = f"trailer << /Size {len(places) + 1} /Root 1 0 R >>"
    start = end + len(more.encode()) + 1
    return "".join([*parts, head, table, trailer, f"\nstartxref\n{start}\n%%EOF\n"]).encode()


def growth(chance: Random) -> str:
    """Return a kind of file, and a beginning, a repeated unit and an end, as JSON."""
    kind = chance.choice([*UNITS])
    return json.dumps([kind, *_parts(chance, kind)])


def growth_text(chance: Random, kind: str, size: int) -> str:
    """Return a text of a kind of file with a unit that is repeated to this many characters."""
    begin, unit, end = _parts(chance, kind)
    return begin + repeated(unit, size) + end


def _parts(chance: Random, kind: str) -> tuple[str, str, str]:
    unit = "".join(chance.choice(UNITS[kind]) for _ in range(chance.choice([1, 1, 2, 2, 3, 5])))
    return chance.choice(BEGINNINGS.get(kind, [""])), unit, chance.choice(ENDS.get(kind, ["", "a", "]]"]))
