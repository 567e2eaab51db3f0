"""``vaultseek status``: the daemon and its vaults at a glance."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from vaultseek import limits
from vaultseek.cli import FOUND, UNAVAILABLE
from vaultseek.cli.invocation import JSON, Invocation, as_json, pass_invocation, shared_options, vault_option
from vaultseek.cli.terminal import Terminal, age, clean, count, duration, size

PROBLEMS_SHOWN = 5

_STATES = {
    "ready": ("green", "ready"),
    "indexing": ("yellow", "indexing"),
    "scanning": ("yellow", "looking for changes"),
    "paused": ("yellow", "paused"),
    "vault_missing": ("red", "missing, its index is kept"),
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@vault_option
@shared_options
@pass_invocation
def status(invocation: Invocation, json_: bool) -> int:
    """Show the daemon, its vaults and what is wrong.

    For each vault: how far its index is, which lanes are up, and every note with a problem. Starts nothing:
    without a daemon it says so and ends with exit code 3.
    """
    from vaultseek.cli import reach

    client = reach.present()
    if client is None:
        if json_:
            as_json({"daemon": None, "vaults": []})
        else:
            print("no daemon is running")
        return UNAVAILABLE
    with client:
        params = invocation.params() if invocation.vault else {}
        answer = client.call("index/status", params, timeout=limits.CALL_SECONDS)
    if json_:
        as_json(answer)
    else:
        invocation.show(page(answer, invocation.out, now=time.time()))
    return FOUND


def page(answer: JSON, terminal: Terminal, *, now: float) -> str:
    """The answer to ``index/status`` as a person reads it."""
    lines = [*_daemon(answer.get("daemon") or {}, terminal)]
    for vault in answer.get("vaults") or ():
        lines += ["", *_vault(vault, terminal, now)]
    if not answer.get("vaults"):
        none = "no vault is open; name one in config.toml, or search from inside a folder with .obsidian"
        lines += ["", *terminal.wrapped(none)]
    return "\n".join(lines)


def progress_of(vault: JSON) -> str:
    """How far a vault's index is: notes, passages, how many of them are embedded, rate, time left.

    What is left to embed is counted in texts: a note has one of its own beside its passages.
    """
    return " · ".join(_progress(vault))


def _progress(vault: JSON) -> list[str]:
    chunks, pending = int(vault.get("chunks") or 0), int(vault.get("pending") or 0)
    parts = [count(int(vault.get("notes") or 0), "note"), count(chunks, "passage")]
    if pending:
        parts.append(f"{int(vault.get('embedded') or 0):,} embedded, {count(pending, 'text')} to go")
        if vault.get("rate"):
            parts.append(f"{vault['rate']:,.0f}/s")
        if vault.get("eta_seconds"):
            parts.append(f"{duration(vault['eta_seconds'])} left")
    elif chunks:
        parts.append("all embedded")
    return parts


def _daemon(daemon: JSON, terminal: Terminal) -> Iterator[str]:
    parts = [f"pid {daemon.get('pid', '?')}"]
    if daemon.get("uptime_seconds") is not None:
        parts.append(f"up {duration(daemon['uptime_seconds'])}")
    if daemon.get("memory_bytes"):
        parts.append(size(daemon["memory_bytes"]))
    name = f"vaultseek {clean(daemon.get('version', ''))}".rstrip()
    yield from terminal.listed([terminal.paint(name, "bold"), *parts])
    worker = daemon.get("worker") or {}
    if worker:
        model, *rest = _worker(worker)
        yield from terminal.listed([f"model: {model}", *rest])
    for key in ("config", "socket"):
        if daemon.get(key):
            yield from terminal.wrapped(terminal.paint(f"{key}: {clean(daemon[key])}", "dim"))


def _worker(worker: JSON) -> list[str]:
    parts = [clean(worker.get(key)) for key in ("model", "status") if worker.get(key)]
    if worker.get("reason"):
        parts.append(clean(worker["reason"]))
    if worker.get("memory_bytes"):
        parts.append(size(worker["memory_bytes"]))
    return parts or ["?"]


def _vault(vault: JSON, terminal: Terminal, now: float) -> Iterator[str]:
    state = str(vault.get("state") or "unknown")
    color, words = _STATES.get(state, ("yellow", clean(state)))
    if vault.get("reason"):
        words += f" ({clean(vault['reason'])})"
        color = "yellow" if color == "green" else color
    name = terminal.paint(clean(vault.get("name") or ""), "bold")
    where = clean(vault.get("path") or "")
    yield from terminal.listed([name, where, terminal.paint(words, color)], between="  ")
    yield from terminal.listed(_progress(vault), margin="  ")
    if changed := age(vault.get("last_change"), now):
        yield f"  last change seen {changed}"
    yield from _lanes(vault.get("lanes") or {}, terminal)
    problems = vault.get("problems") or []
    yield from _problems(problems, int(vault.get("problem_count") or len(problems)), terminal)


def _lanes(lanes: JSON, terminal: Terminal) -> Iterator[str]:
    words = []
    for name, lane in lanes.items():
        up = bool(lane.get("up"))
        reason = f" ({clean(lane['reason'])})" if lane.get("reason") else ""
        words.append(
            f"{clean(name)} {terminal.paint('up' if up else 'down', 'green' if up else 'red')}{reason}"
        )
    if words:
        yield from terminal.listed([f"lanes: {words[0]}", *words[1:]], margin="  ", between=", ")


def _problems(problems: list[JSON], number: int, terminal: Terminal) -> Iterator[str]:
    if not number:
        return
    yield "  " + terminal.paint(count(number, "problem"), "yellow")
    for problem in problems[:PROBLEMS_SHOWN]:
        what = problem.get("message") or problem.get("code") or ""
        line = f"{clean(problem.get('path') or '')}: {clean(what)}"
        yield "    " + terminal.fit(line, terminal.width - 4)
    more = number - len(problems[:PROBLEMS_SHOWN])
    if more > 0:
        yield from terminal.wrapped(f"and {more:,} more; `vaultseek status --json` names them", margin="    ")
