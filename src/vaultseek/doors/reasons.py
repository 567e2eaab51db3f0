"""Descriptions of the reasons for a suggested link, and for the absence of a path between notes."""

from vaultseek.base.model import JSON
from vaultseek.base.text import count

_REASONS = {
    "mentioned": "mentioned on line {line}",
    "mentions": "mentions this note on line {line}",
    "links_back": "already links here",
    "meaning": "similar in meaning ({cosine:.2f})",
}


def reason_text(reason: JSON) -> str:
    """Return a description of a reason for a suggested link."""
    if reason["kind"] == "cited_together":
        return "1 note links to both" if reason["count"] == 1 else f"{reason['count']:,} notes link to both"
    if reason["kind"] == "followed":
        return f"linked from {count(reason['count'], 'similar note')}"
    if reason["kind"] == "common_links":
        return f"{count(reason['count'], 'note')} connected to both by a link"
    return _REASONS[reason["kind"]].format(**reason)


def no_path_reason(answer: JSON) -> str:
    """Return a description of the reason why an answer to ``graph/path`` has no routes."""
    reasons = "; ".join(lane["reason"] for lane in answer["partial"])
    meaning = (
        f"search by meaning was left out: {reasons}"
        if reasons
        else "no notes on the two sides are similar in meaning"
    )
    return f"no links lead there, and {meaning}"
