"""The result of a check."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "broken"]
OK: Status = "ok"
WARNING: Status = "warning"
BROKEN: Status = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """The state that a check found, with advice.

    ``public`` replaces a message that contains the user's words, such as a wrong value or a folder's name, in
    reports that strangers read.
    """

    check: str
    status: Status
    message: str
    advice: str = ""
    public: str | None = None
