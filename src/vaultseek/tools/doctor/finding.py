"""The result of a check."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "broken"]
OK: Status = "ok"
WARNING: Status = "warning"
BROKEN: Status = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, with advice.

    In reports for strangers, ``public`` replaces a message that contains the user's words, such as a wrong
    value or a folder's name.
    """

    check: str
    status: Status
    message: str
    advice: str = ""
    public: str | None = None
