"""``vaultseek context``: the evidence for a question, packed for a language model."""

from __future__ import annotations

import click

from vaultseek.base import limits
from vaultseek.doors.cli.completion_values import complete_query
from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.invocation import Invocation, environment_settings, naming_the_variable
from vaultseek.doors.cli.options import QueryCommand, completed_by, daemon_options, json_option, unescaped
from vaultseek.doors.cli.output import print_answer, print_remarks
from vaultseek.doors.cli.search_page import no_match
from vaultseek.doors.cli.terminal import Terminal, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, required=True, shell_complete=completed_by(complete_query))
@click.option(
    "--tokens",
    type=click.IntRange(limits.AGENT_TOKENS_LEAST, limits.AGENT_TOKENS_MOST),
    default=limits.AGENT_TOKENS,
    show_default=True,
    metavar="N",
    help="Print at most N tokens.",
)
@json_option()
@daemon_options
def context(invocation: Invocation, /, query: tuple[str, ...], tokens: int) -> int:
    """Print what several notes say about a question, as much as fits.

    For a language model: the passages most likely to be of use, each with its note, heading, lines and the
    day it was changed. What did not fit is named at the end. Tokens are counted at three bytes each, so that
    the budget holds for any model.

    \b
    vaultseek context "how do I descale the boiler" --tokens 1000
    """
    words = " ".join(map(unescaped, query))
    settings = environment_settings()
    with naming_the_variable(settings):
        params = {"query": words, "tokens": tokens, "settings": settings}
        answer = call_vault(invocation, "search/context", **params)
    if not invocation.json:
        print_remarks(answer)
    return print_answer(answer, invocation, "passages", _text)


def _text(answer: JSON, terminal: Terminal) -> str:
    if not answer["passages"]:
        return no_match(answer, terminal)
    return "\n".join(map(clean, answer["text"].split("\n")))
