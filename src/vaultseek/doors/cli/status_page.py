"""The status of the daemon and its vaults as text, for ``vaultseek status``."""

from __future__ import annotations

from collections.abc import Iterator

from vaultseek import __version__
from vaultseek.base.model import JSON, NOT_EMBEDDED
from vaultseek.doors.cli.output import with_command
from vaultseek.doors.cli.progress import percent
from vaultseek.doors.cli.terminal import Terminal, age, clean, count, duration, size

PROBLEMS_SHOWN = 5

_STATES = {
    "ready": ("green", "ready"),
    "indexing": ("magenta", "indexing"),
    "scanning": ("magenta", "scanning for changes"),
    "paused": ("magenta", "paused"),
    "vault_missing": ("red", "unreachable; its index is kept"),
}


def page(answer: JSON, terminal: Terminal, *, now: float, settings_problem: str = "") -> str:
    """Return the answer to ``index/status`` as text, with ``settings_problem``, if there is one."""
    lines = [*_daemon(answer.get("daemon") or {}, terminal, settings_problem)]
    for vault in answer.get("vaults") or ():
        lines += ["", *_vault(vault, terminal, now)]
    if not answer.get("vaults"):
        problem = clean((answer.get("daemon") or {}).get("shards_problem") or "")
        words = problem or "add one with `vaultseek vault add DIR`"
        lines += ["", *terminal.wrapped(f"no vault is open; {words}")]
    return "\n".join(lines)


def other_version(version: str) -> str:
    """Return advice if the daemon's version differs from this command's version, otherwise ""."""
    if version in ("", __version__):
        return ""
    versions = f"the running daemon is {clean(version)}, this command {__version__}"
    return f"{versions}; `vaultseek start --restart` replaces the daemon"


def progress_of(vault: JSON) -> str:
    """Return the progress of a vault's index: notes, passages, percentage done, rate and remaining time."""
    return " · ".join(_progress(vault))


def _progress(vault: JSON) -> list[str]:
    chunks, pending = int(vault.get("chunks") or 0), int(vault.get("pending") or 0)
    parts = [count(int(vault.get("notes") or 0), "note"), count(chunks, "passage")]
    if pending:
        parts.append(f"{percent(vault)} % indexed")
        if vault.get("rate"):
            parts.append(f"{vault['rate']:,.0f}/s")
        if vault.get("eta_seconds"):
            parts.append(f"{duration(vault['eta_seconds'])} left")
    elif chunks:
        problems = vault.get("problems") or ()
        refused = sum(each.get("code") == NOT_EMBEDDED for each in problems)
        parts.append(f"all embedded, except parts of {count(refused, 'note')}" if refused else "all embedded")
    return parts


def _daemon(daemon: JSON, terminal: Terminal, settings_problem: str) -> Iterator[str]:
    parts = [f"pid {daemon.get('pid', '?')}"]
    if daemon.get("uptime_seconds") is not None:
        parts.append(f"up {duration(daemon['uptime_seconds'])}")
    if daemon.get("memory_bytes"):
        parts.append(size(daemon["memory_bytes"]))
    name = f"vaultseek {clean(daemon.get('version', ''))}".rstrip()
    yield from terminal.listed([terminal.paint(name, "bold"), *parts])
    if other := other_version(daemon.get("version", "")):
        yield from terminal.wrapped(terminal.paint(other, "magenta"))
    worker = daemon.get("worker") or {}
    if worker:
        model, *rest = _worker(worker)
        yield from terminal.listed([f"model: {model}", *rest])
        if worker.get("sends"):
            yield from terminal.wrapped(terminal.paint(clean(worker["sends"]), "magenta"))
    for name, problem in (daemon.get("addresses") or {}).items():
        if problem:
            what = "port" if name == "daemon.tcp" else "team"
            yield from terminal.wrapped(terminal.paint(f"{what}: {clean(problem)}", "red"))
    for key in ("config", "socket"):
        if daemon.get(key):
            yield from terminal.wrapped(terminal.paint(f"{key}: {clean(daemon[key])}", "dim"))
        if key == "config" and settings_problem:
            yield from terminal.wrapped(terminal.paint(clean(settings_problem), "red"))


def _worker(worker: JSON) -> list[str]:
    parts = [clean(worker.get(key)) for key in ("model", "status") if worker.get(key)]
    if worker.get("reason"):
        parts.append(clean(with_command(worker["reason"], worker.get("advice"))))
    if worker.get("memory_bytes"):
        parts.append(size(worker["memory_bytes"]))
    if worker.get("computing"):
        parts.append(clean(worker["computing"]))
    return parts or ["?"]


def _vault(vault: JSON, terminal: Terminal, now: float) -> Iterator[str]:
    state = str(vault.get("state") or "unknown")
    color, label = _STATES.get(state, ("magenta", clean(state)))
    if vault.get("reason"):
        label += f" ({clean(with_command(vault['reason'], vault.get('advice')))})"
        color = "magenta" if color == "green" else color
    name = terminal.paint(clean(vault.get("name") or ""), "bold")
    where = clean(vault.get("path") or "")
    yield from terminal.listed([name, where, terminal.paint(label, color)], between="  ")
    yield from terminal.listed(_progress(vault), margin="  ")
    if changed := age(vault.get("last_change"), now):
        yield f"  last change seen {changed}"
    if models := vault.get("models"):
        yield from terminal.listed(_models(models), margin="  ")
    yield from _lanes(vault, terminal)
    problems = vault.get("problems") or []
    yield from _problems(problems, int(vault.get("problem_count") or len(problems)), terminal)


def _models(models: JSON) -> list[str]:
    """Return descriptions of the vault's model and of its model for questions in other languages."""
    why = f" ({clean(models['why'])})" if models.get("why") else ""
    parts = [f"model: {clean(models.get('main') or '?')}{why}"]
    if second := models.get("second"):
        left = models.get("second_notes_left")
        state = "waiting" if left is None else f"{count(left, 'note')} to go" if left else "all embedded"
        if problem := models.get("second_problem"):
            state += f"; trying again after a failure: {clean(problem)}"
        parts.append(f"questions in languages other than English: {clean(second)}, {state}")
    return parts


def _lanes(vault: JSON, terminal: Terminal) -> Iterator[str]:
    states = []
    is_partial = int(vault.get("embedded") or 0) < int(vault.get("chunks") or 0)
    partly = " (not all passages yet)" if is_partial else ""
    for name, lane in (vault.get("lanes") or {}).items():
        up = bool(lane.get("up"))
        reason = f" ({clean(with_command(lane['reason'], lane.get('advice')))})" if lane.get("reason") else ""
        reason = reason or (partly if name == "semantic" else "")
        state = terminal.paint("up", "green") if up else terminal.paint("down", "red")
        states.append(f"{clean(name)} {state}{reason}")
    if states:
        yield from terminal.listed([f"searches: {states[0]}", *states[1:]], margin="  ", between=", ")


def _problems(problems: list[JSON], number: int, terminal: Terminal) -> Iterator[str]:
    if not number:
        return
    yield "  " + terminal.paint(count(number, "problem"), "magenta")
    for problem in problems[:PROBLEMS_SHOWN]:
        message = problem.get("message") or problem.get("code") or ""
        where = f":{problem['line']}" if int(problem.get("line") or 1) > 1 else ""
        line = f"{clean(problem.get('path') or '')}{where}: {clean(message)}"
        yield "    " + terminal.fit(line, terminal.width - 4)
    more = number - len(problems[:PROBLEMS_SHOWN])
    if more > 0:
        yield from terminal.wrapped(f"and {more:,} more; `vaultseek status --json` lists them", margin="    ")
