"""``vaultseek doctor``: what could keep it from working, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from vaultseek.cli import FOUND
from vaultseek.cli.asking import HELP
from vaultseek.cli.invocation import Invocation, as_json, pass_invocation, shared_options
from vaultseek.cli.terminal import Terminal, clean, count
from vaultseek.errors import UsageError

if TYPE_CHECKING:
    from vaultseek.doctor import Finding

_BROKEN_EXIT = 1
_COLORS = {"ok": "green", "warning": "yellow", "broken": "red"}
_INDENT = 9


@click.command(context_settings=HELP)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@click.option(
    "--report", "report_", is_flag=True, help="Print a text for a bug report, without private names."
)
@click.option("--no-worker", is_flag=True, help="Do not load the model, which takes some seconds.")
@shared_options
@pass_invocation
def doctor(invocation: Invocation, json_: bool, report_: bool, no_worker: bool) -> int:
    """Look for what could keep vaultseek from working.

    Python, engines, configuration, directories, disk, daemon, vaults, indexes, vectors, watches, model
    and worker, and what to do about each thing that is wrong. Changes nothing and needs no daemon. Exit code
    0 if vaultseek can be used, even if there are warnings, 1 if something is broken.

    \b
    vaultseek doctor
    vaultseek doctor --report > report.md
    """
    from vaultseek.doctor import BROKEN, examine

    if json_ and report_:
        raise UsageError("--json and --report are two forms of the answer; choose one")
    found = examine(invocation.config, start_worker=not no_worker)
    if json_ or report_:
        findings = list(found)
        _print_at_once(findings, invocation, json_=json_)
    else:
        findings = _print_as_they_come(found, invocation.out)
    return _BROKEN_EXIT if any(finding.status == BROKEN for finding in findings) else FOUND


def _print_at_once(findings: list[Finding], invocation: Invocation, *, json_: bool) -> None:
    from vaultseek.doctor import BROKEN, report

    if json_:
        listed = [
            {"check": f.check, "status": f.status, "message": f.message, "advice": f.advice or None}
            for f in findings
        ]
        as_json({"ok": not any(f.status == BROKEN for f in findings), "findings": listed})
        return
    print(report(findings, invocation.config))


def _print_as_they_come(found: Iterator[Finding], terminal: Terminal) -> list[Finding]:
    findings = []
    for finding in found:
        findings.append(finding)
        print("\n".join(_lines(finding, terminal)), flush=True)
    broken = sum(finding.status == "broken" for finding in findings)
    warnings = sum(finding.status == "warning" for finding in findings)
    print()
    if broken:
        print(terminal.paint(f"{count(broken, 'thing')} broken, {count(warnings, 'warning')}", "red"))
    else:
        print(f"nothing is broken, {count(warnings, 'warning')}")
    return findings


def _lines(finding: Finding, terminal: Terminal) -> Iterator[str]:
    status = terminal.paint(f"{finding.status:<{_INDENT - 2}}", _COLORS[finding.status])
    said = f"{status}  {clean(finding.check)}: {clean(finding.message)}"
    yield from terminal.wrapped(said, hanging=" " * _INDENT)
    if finding.advice:
        yield from terminal.wrapped(f"→ {clean(finding.advice)}", margin=" " * _INDENT)
