"""The documentation: every link has a target, and every command line is valid."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from vaultseek.doors.cli.commands import vaultseek

PROJECT = Path(__file__).parents[2]
README = PROJECT / "README.md"
DOCS = sorted((PROJECT / "docs").glob("*.md"))
PAGES = [README, PROJECT / "CONTRIBUTING.md", *DOCS, *sorted((PROJECT / "editors").glob("*/README.md"))]
EXCLUSION = re.compile(r"-(?!-|h$|n$).+")
SHELLS = ("sh", "bash", "console", "fish")
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(<?([^)\s>]+)>?\)")
_INLINE = re.compile(r"`(vaultseek [^`]+)`")


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


def test_the_readme_lists_every_command():
    context = click.Context(vaultseek)
    spans = " ".join(re.findall(r"`([^`]+)`", _FENCE.sub("", README.read_text(encoding="utf-8"))))
    for name in vaultseek.list_commands(context):
        assert vaultseek.get_command(context, name) is not None
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", spans), name


def test_the_first_screens_of_the_readme_name_what_sets_up_a_fresh_machine():
    first = "\n".join(README.read_text(encoding="utf-8").splitlines()[:45])
    assert "`scripts/demo`" in first
    assert "`scripts/test`" in first


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_has_a_target(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    lost = []
    for target in _LINK.findall(text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = unquote(target).partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(target)
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_line_parses(page):
    wrong = {}
    for command in commands(page.read_text(encoding="utf-8")):
        try:
            parse_command(command)
        except (click.UsageError, ValueError) as error:
            wrong[command] = str(error)
    assert wrong == {}


def test_commands_are_extracted_and_wrong_ones_refused():
    page = (
        "Say `vaultseek status`.\n```sh\ncd x && vaultseek index --wait  # see\nvaultseek tags | head\n```\n"
    )
    assert list(commands(page)) == [
        "vaultseek index --wait  # see",
        "vaultseek tags",
        "vaultseek status",
    ]
    with pytest.raises(click.UsageError):
        parse_command("vaultseek serch pump")
    with pytest.raises(click.UsageError):
        parse_command("vaultseek status --colour")
    with pytest.raises(click.UsageError):
        parse_command("vaultseek search pump --mode quick")


def commands(text: str) -> Iterator[str]:
    """Yield the command lines of a page, from shell blocks and from the text."""
    for _, language, block in _FENCE.findall(text):
        if language not in SHELLS:
            continue
        lines = block.replace("\\\n", " ").splitlines()
        prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        for line in prompted if language == "console" else lines:
            for part in re.split(r" && | \| |; | > | >> ", line.strip()):
                if part.startswith("vaultseek "):
                    yield part.strip()
    yield from _INLINE.findall(_FENCE.sub("", text))


def parse_command(line: str) -> None:
    """Parse a command line as the program does, without running it. Raises UsageError."""
    words = [word for word in shlex.split(line, comments=True) if word != "…"][1:]
    command: click.Command = vaultseek
    context = click.Context(vaultseek, info_name="vaultseek")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        subcommand = command.get_command(context, name)
        if subcommand is None:
            raise click.UsageError(f"no command {name}")
        command, context = subcommand, click.Context(subcommand, parent=context, info_name=name)
    if command.name == "search":
        words = [word for word in words if not EXCLUSION.fullmatch(word)]
    values, _, _ = command.make_parser(context).parse_args(words)
    for parameter in command.params:
        if isinstance(parameter.type, click.Choice | click.IntRange) and parameter.name in values:
            parameter.type_cast_value(context, values[parameter.name])


def anchors(page: Path) -> set[str]:
    """Return the anchors of ``page`` that a link may name after ``#``."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_installs_from_an_index_what_is_not_released(page):
    text = page.read_text(encoding="utf-8")
    if page.name != "releasing.md":
        assert re.findall(r"vaultseek\[|(?:pip|pipx|uv tool) install (?:-\S+ )*'?vaultseek", text) == []


def test_every_test_that_the_faults_name_exists():
    text = (PROJECT / "docs" / "faults.md").read_text(encoding="utf-8")
    sources = [file.read_text(encoding="utf-8") for file in (PROJECT / "tests").rglob("test_*.py")]
    there = set(re.findall(r"def (test_\w+)", "\n".join(sources)))
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 80
    assert named - there == set()
    assert [path for path in re.findall(r"`(tests/\S+)`", text) if not (PROJECT / path).exists()] == []


def test_figures_of_the_readme_are_those_of_the_pages():
    pages = "".join((PROJECT / "docs" / name).read_text("utf-8") for name in ("ranking.md", "performance.md"))
    figures = README.read_text(encoding="utf-8").split("## How good")[1].split("## Built on")[0]
    rows = [line for line in figures.splitlines() if line.startswith("|")]
    assert len(rows) > 8
    ends = [row.removesuffix(" |") for row in rows if not row.startswith(("|---", "| what | measured"))]
    assert [row for row in ends if row not in pages] == []


@pytest.mark.parametrize(
    "page", [README, *sorted((PROJECT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_every_row_of_a_table_has_the_columns_of_its_heading(page):
    columns = 0
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line))) if line.startswith("|") else 0
        assert not (columns and cells) or cells == columns, line
        columns = cells


def test_figures_stand_only_in_tables_of_figures():
    text = (PROJECT / "docs" / "ranking.md").read_text(encoding="utf-8")
    sets = text.split("| set |")[1].split("\n\n")[0]
    assert not re.search(r"\| \*{0,2}\.\d{3}", sets), "a result in the table of sets"


def test_nothing_that_vaultseek_has_is_called_what_it_lacks():
    lines = (PROJECT / "docs" / "alternatives.md").read_text(encoding="utf-8").splitlines()
    own, *others = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line[:3] in ("| *", "| [")
    )
    assert own[0] == "**vaultseek**"
    has = [part for cell in own[1:] for part in re.split("[;,] | and ", cell.removeprefix("in notes, "))]
    assert {"PDFs", "pictures", "HTTP", "remote models", "Python library"} <= set(has)
    for other in others:
        lacked = re.split("[;,] | and ", other[-1])
        assert set(has) & set(lacked) <= {""}


def test_words_that_the_troubleshooting_quotes_are_those_of_the_program():
    text = (PROJECT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    sources = "".join(file.read_text("utf-8") for file in (PROJECT / "src").rglob("*.py"))
    symptoms = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    quoted = {words for symptom in symptoms for words in re.findall(r"`([^`]+)`", symptom)}
    missing = {words for words in quoted if not words.startswith("vaultseek") and words not in sources}
    assert len(quoted) > 15
    assert missing == set()
