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


def costly_matches(shape: str) -> Iterator[str]:
    """Yield patterns of one shape with flags and a text, as JSON."""
    for size in SIZES:
        for letter in LETTERS:
            found = SHAPES[shape](letter, size)
            for flags in ("", "im"):
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
    "settings": ["[a]\n", "[[vaults]]\n", "a = 1\n", "a.", "[", "{", '"', "\n", "'", "#", "1", "_", "= "],
    "frames": ["Content-Length: 1\r\n\r\n", "{", "[", '"a":', "1", ",", "}", "]", "\\u0000", " "],
    "app_settings": ['"', "[", "{", ",", '"userIgnoreFilters":', "a", "/", "*", "(", ")"],
}
"""Pieces of each kind of file."""
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
    "settings": ["", "[search]\n", "a = ", "[vaults"],
}
ENDS = {"canvas": ["", '"}]}', "]}"], "excalidraw": ["", '"}]}', "]}"], "app_settings": ["", '"]}', '/"]}']}


def growth(chance: Random) -> str:
    """Return a kind of file, and a beginning, a repeated unit and an end, as JSON."""
    kind = chance.choice([*UNITS])
    unit = "".join(chance.choice(UNITS[kind]) for _ in range(chance.choice([1, 1, 2, 2, 3, 5])))
    begin, end = chance.choice(BEGINNINGS.get(kind, [""])), chance.choice(ENDS.get(kind, ["", "a", "]]"]))
    return json.dumps([kind, begin, unit, end])
