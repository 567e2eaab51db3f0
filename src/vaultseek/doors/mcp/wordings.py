"""Several wordings of one question: their answers as one, each note once. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vaultseek.base.model import JSON
from vaultseek.core.search.certainty import monotone_certainty


def merge_wordings(answers: Sequence[JSON]) -> JSON:
    """Return one answer with the notes of all, best first, each once, with the passage of its best wording.

    The best note of every wording has score 1, however bad it is. So a score counts as much as its wording's
    best note is certain, and the scores of the wordings that have a note are added up.
    """
    total: dict[str, float] = {}
    best: dict[str, tuple[float, JSON]] = {}
    for answer in answers:
        certainty = _certainty(answer)
        for result in answer["results"]:
            path, score = result["path"], certainty * float(result["score"])
            total[path] = total.get(path, 0.0) + score
            if path not in best or score > best[path][0]:
                best[path] = (score, result)
    order = sorted(total, key=lambda path: -total[path])
    most = max(total.values(), default=0.0) or 1.0
    certainties = monotone_certainty([float(best[path][1].get("confidence", 1.0)) for path in order])
    results = [
        {**best[path][1], "score": total[path] / most, "certainty": certainty}
        for path, certainty in zip(order, certainties, strict=True)
    ]
    merged = {**answers[0], "results": results, "partial": _partial(answers)}
    merged["weak"] = all(answer.get("weak") for answer in answers if answer["results"])
    merged["interpreted"] = {
        "notes": list(dict.fromkeys(note for answer in answers for note in _remarks(answer))),
        "rank_text": next(filter(None, map(_rank_text, answers)), _rank_text(answers[0])),
    }
    if results:
        merged.pop("nearest", None)
    return merged


def _certainty(answer: JSON) -> float:
    """Return the greatest confidence of a wording's results; 1 for notes that only pass filters."""
    return max((float(result.get("confidence", 1.0)) for result in answer["results"]), default=0.0)


def _partial(answers: Iterable[JSON]) -> list[JSON]:
    lanes = {(lane["lane"], lane.get("code")): lane for answer in answers for lane in answer["partial"]}
    return list(lanes.values())


def _remarks(answer: JSON) -> list[str]:
    return list((answer.get("interpreted") or {}).get("notes") or ())


def _rank_text(answer: JSON) -> str | None:
    text: str | None = (answer.get("interpreted") or {}).get("rank_text")
    return text
