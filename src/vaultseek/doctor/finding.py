"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "broken"]
OK: Status = "ok"
WARNING: Status = "warning"
BROKEN: Status = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """``message`` says what is, ``advice`` what to do about it.

    ``public`` stands in the place of a message that repeats what the user wrote, such as a wrong value or a
    folder's name, where strangers will read it.
    """

    check: str
    status: Status
    message: str
    advice: str = ""
    public: str | None = None
