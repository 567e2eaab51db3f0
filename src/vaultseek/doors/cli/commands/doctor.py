"""``vaultseek doctor``: find out why vaultseek does not work, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import click

from vaultseek.base.model import JSON
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import json_option, local_options
from vaultseek.doors.cli.output import print_json
from vaultseek.doors.cli.terminal import Terminal, clean, count
from vaultseek.errors import UsageError

if TYPE_CHECKING:
    from vaultseek.tools.doctor.finding import Finding

_BROKEN_EXIT = 1
_COLORS = {"ok": "green", "warning": "magenta", "broken": "red"}
_INDENT = 9


@click.command()
@json_option()
@click.option("--report", "report_", is_flag=True, help="Print a bug report, without private names.")
@click.option("--no-worker", is_flag=True, help="Do not load the model (saves a few seconds).")
@click.option("--audit", is_flag=True, help="Also compare the vectors with the notes (takes a few seconds).")
@local_options
def doctor(invocation: Invocation, report_: bool, no_worker: bool, audit: bool) -> int:
    """Check whether vaultseek works.

    Checks Python, engines, configuration, directories, disk, daemon, vaults, indexes, vectors, watches, model
    and worker, and tells you how to fix problems. Changes nothing and needs no daemon. Exit code 1 if
    something is broken; 0 if there are only warnings.

    \b
    vaultseek doctor
    vaultseek doctor --audit
    vaultseek doctor --report > report.md
    """
    from vaultseek.tools.doctor.examine import examine
    from vaultseek.tools.doctor.finding import BROKEN
    from vaultseek.tools.doctor.report import report

    if invocation.json and report_:
        raise UsageError("--json and --report cannot be combined; use one of them")
    checks = chain(
        _check_service(invocation),
        examine(invocation.config, start_worker=not no_worker, audited=audit),
    )
    at_once = invocation.json or report_
    findings = list(checks) if at_once else _print_each(checks, invocation.out)
    broken = any(finding.status == BROKEN for finding in findings)
    if invocation.json:
        print_json(_as_json(findings, broken=broken))
    elif report_:
        print(report(findings, invocation.config))
    return _BROKEN_EXIT if broken else SUCCESS


def _check_service(invocation: Invocation) -> Iterator[Finding]:
    """Yield a warning if the service's unit file was written with different settings or by a different
    version."""
    from vaultseek.doors.cli.commands.service import OUTDATED, outdated_keys
    from vaultseek.tools.doctor.finding import WARNING, Finding

    if keys := outdated_keys(invocation):
        message = f"{OUTDATED} ({', '.join(keys)})"
        yield Finding("service", WARNING, message, "run `vaultseek service install` again")


def _as_json(findings: list[Finding], *, broken: bool) -> JSON:
    listed = [
        {"check": f.check, "status": f.status, "message": f.message, "advice": f.advice or None}
        for f in findings
    ]
    return {"ok": not broken, "findings": listed}


def _print_each(checks: Iterator[Finding], terminal: Terminal) -> list[Finding]:
    findings = []
    for finding in checks:
        findings.append(finding)
        print("\n".join(_lines(finding, terminal)), flush=True)
    broken = sum(finding.status == "broken" for finding in findings)
    warnings = sum(finding.status == "warning" for finding in findings)
    print()
    if broken:
        print(terminal.paint(f"{count(broken, 'problem')}, {count(warnings, 'warning')}", "red"))
    else:
        print(f"no problems, {count(warnings, 'warning')}")
    return findings


def _lines(finding: Finding, terminal: Terminal) -> Iterator[str]:
    status = terminal.paint(f"{finding.status:<{_INDENT - 2}}", _COLORS[finding.status])
    line = f"{status}  {clean(finding.check)}: {clean(finding.message)}"
    yield from terminal.wrapped(line, hanging=" " * _INDENT)
    if finding.advice:
        yield from terminal.wrapped(f"→ {clean(finding.advice)}", margin=" " * _INDENT)
