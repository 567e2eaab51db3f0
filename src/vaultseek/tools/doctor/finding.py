"""The result of a check, as a data class."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "broken"]
OK: Status = "ok"
WARNING: Status = "warning"
BROKEN: Status = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, with advice if something is wrong.

    In bug reports, ``public`` replaces a message that contains private words, such as an invalid value or a
    folder's name.
    """

    check: str
    status: Status
    message: str
    advice: str = ""
    public: str | None = None
