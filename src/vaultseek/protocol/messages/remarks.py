"""Remarks that a person or an agent should read along with an answer's results. All clients show the same
wording."""

from collections.abc import Iterator

from vaultseek.base.model import JSON
from vaultseek.base.text import count

WAITING = frozenset({"loading", "not_embedded", "being_built"})
"""Reason codes of lanes that will soon be available."""
NAMES = {
    "keyword": "search by word",
    "semantic": "search by meaning",
    "graph": "search by link",
    "rerank": "reranking",
    "expansion": "query expansion",
}


def with_remarks(answer: JSON, *, found: bool) -> JSON:
    """Return ``answer`` with ``remarks``, most important first: objects with ``code`` and ``text``.

    Like an error message, ``text`` has no initial capital and no final full stop. The codes are ``no_match``
    if nothing was found, ``closest`` if the results are only approximate, ``query`` for parts of the query
    that were not interpreted as typed, ``incomplete`` for parts of the search that were left out, and
    ``waiting`` for notes that are not searched by meaning yet. ``found`` is true if the answer has results.
    """
    return {
        **answer,
        "remarks": [
            *_on_matches(answer, found),
            *(_remark("query", note) for note in (answer.get("interpreted") or {}).get("notes") or ()),
            *_on_parts(answer, found),
        ],
    }


def _on_matches(answer: JSON, found: bool) -> Iterator[JSON]:
    if (found and not answer.get("weak")) or "interpreted" not in answer:
        return
    vaults: list[JSON] = answer.get("vaults", [answer])
    indexes = [each["index"] for each in vaults]
    if not found and all(index.get("notes") == 0 for index in indexes):
        yield _remark(
            "no_match", "the vault has no notes yet" if len(indexes) == 1 else "the vaults have no notes yet"
        )
        return
    reading = next((lane["reason"] for lane in answer["partial"] if lane["code"] == "being_read"), None)
    if reading and not found:
        yield _remark("no_match", f"no note matches yet: {reading}")
        return
    # Matches by meaning are not known yet, so the remark mentions only words.
    none = "no note has these words" if any(map(_is_coming, answer["partial"])) else "no note matches"
    if any(lane["lane"] == "vault" and lane["code"] == "being_built" for lane in answer["partial"]):
        none = "no note matches yet"  # many notes have no vectors for the query's language
    if found:
        yield _remark("closest", f"{none}; these are the closest")
        return
    nearest = next((each["nearest"] for each in vaults if each.get("nearest")), None)
    yield _remark("no_match", f"{none}; the closest is {nearest['path']}" if nearest else none)


def _on_parts(answer: JSON, found: bool) -> Iterator[JSON]:
    """Yield a remark for each lane that was left out, but only one while search by meaning is not complete,
    and none on meaning for a search by word."""
    lanes = answer["partial"]
    for lane in lanes:
        of = f"{lane['vault']}: " if lane.get("vault") else ""
        if lane["code"] == "being_read":
            if found:
                yield _remark("incomplete", f"{of}{lane['reason']}: results may be missing")
        elif lane["lane"] == "vault":
            yield _remark("incomplete", f"{of}notes may be missing: {lane['reason']}", lane)
        elif not _is_coming(lane):
            name = NAMES.get(lane["lane"], lane["lane"])
            yield _remark("incomplete", f"{of}{name} was left out: {lane['reason']}", lane)
    indexes = [each["index"] for each in answer.get("vaults", [answer]) if "index" in each]
    pending = sum(index.get("pending") or 0 for index in indexes)
    is_coming = any(map(_is_coming, lanes))
    if (pending and answer.get("mode") != "keyword") or is_coming:
        reasons = {index.get("reason") for index in indexes if index.get("state") == "ready"} - {None}
        left = f": {count(pending, 'vector')} left" if pending else ""
        why = f" ({'; '.join(sorted(reasons))})" if pending and reasons else ""
        text = "search by meaning is not ready yet" if is_coming else "search by meaning is not complete yet"
        yield _remark("waiting", f"{text}{left}{why}")


def _is_coming(lane: JSON) -> bool:
    return bool(lane["lane"] == "semantic" and lane["code"] in WAITING)


def _remark(code: str, text: str, of: JSON | None = None) -> JSON:
    return {"code": code, "text": text, **({"advice": of["advice"]} if of and "advice" in of else {})}
