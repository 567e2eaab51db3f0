"""Limits of each token: requests in a minute, and at the same time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vaultseek.daemon.team.grants import Grant
from vaultseek.errors import Busy


@dataclass(slots=True)
class _Use:
    """The use of a token: requests that may still come, since when, and those being answered."""

    left: float
    since: float
    running: int = 0


class Quotas:
    """Counts the requests of each token; a minute's worth may come at once, and grows back steadily."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    @contextlib.contextmanager
    def request(self, grant: Grant) -> Iterator[None]:
        """Count a request for as long as it runs. Raises Busy if the token has had enough."""
        most, now = grant.token.requests_per_minute, self._clock()
        use = self._uses.setdefault(grant.token.sha256, _Use(most, now))
        use.left = min(most, use.left + (now - use.since) * most / 60)
        use.since = now
        if use.left < 1:
            raise Busy(f"more than {most} requests in a minute with this token; try again in a moment")
        if use.running >= grant.token.in_flight:
            raise Busy(f"{use.running} requests with this token are at work; try again after one of them")
        use.left -= 1
        use.running += 1
        try:
            yield
        finally:
            use.running -= 1
