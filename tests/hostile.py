"""Grammars of what costs: patterns, formulas, bases and settings of the app, for the fuzzer."""

import json
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


def pattern(chance: Random, depth: int = 5) -> str:
    """Return a regular expression, most often one that nests repeats."""
    parts = []
    for _ in range(chance.randrange(1, 4)):
        inner = chance.choice(ATOMS)
        if depth and chance.random() < 0.7:
            inner = chance.choice(GROUPS).replace("{}", pattern(chance, depth - 1))
        parts.append(inner + (chance.choice(REPEATS) if chance.random() < 0.7 else ""))
    return chance.choice(FLAGS) + chance.choice(["", "|"]).join(parts)


def formula(chance: Random, depth: int = 5) -> str:
    """Return a formula, most often one whose value grows."""
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
    """Return Obsidian's settings with rules for files to leave out."""
    rules = [f"/{pattern(chance)}/" for _ in range(chance.choice([1, 5, 200]))]
    return json.dumps({"userIgnoreFilters": rules, "newLinkFormat": chance.choice(["relative", 1])})
