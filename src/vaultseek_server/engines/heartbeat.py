"""Heartbeat of an indexer, which shows that it is running, and how far its shard is behind the folder.

The heartbeat is stored with the shard in the engine, for searchers, which have no folder. Its age is measured
by the engine's clock, so the clocks of the machines do not matter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from vaultseek.base.failpoints import seconds_of
from vaultseek.base.model import REASON_CODES, Reason
from vaultseek.base.when import local_time

BEAT_SECONDS = 5.0
"""Number of seconds between two heartbeats."""
SILENCE_SECONDS = 60.0
"""Age in seconds of the last heartbeat at which the indexer counts as silent."""
STOPPED = "stopped"
"""The state of an indexer that has ended normally."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The state of an indexer when it wrote the heartbeat, ``age`` seconds ago.

    ``lag`` is the number of seconds from the last time at which the shard was complete until the heartbeat;
    None if it was never complete.
    """

    host: str
    state: str
    lag: float | None = None
    reason: Reason | None = None
    age: float = 0.0

    def as_text(self) -> str:
        """Return the heartbeat as JSON text, without its age."""
        reason = None if self.reason is None else [self.reason.code, self.reason.text]
        return json.dumps([self.host, self.state, self.lag, reason])

    @classmethod
    def of_state(cls, state: Mapping[str, str]) -> Heartbeat | None:
        """Return the heartbeat stored in a shard's state; None if it is missing or from a later version."""
        try:
            host, work, lag, reason = json.loads(state["heartbeat"])[:4]
            if reason is not None:
                code, text = reason
                reason = Reason(next((known for known in REASON_CODES if known == code), "behind"), str(text))
            lag, age = None if lag is None else float(lag), float(state["heartbeat age"])
            return cls(str(host), str(work), lag, reason, age)
        except (ValueError, TypeError, LookupError):
            return None

    @property
    def is_silent(self) -> bool:
        """True if the heartbeat is so old that the indexer seems to be gone."""
        return self.age > seconds_of("indexer.silence", SILENCE_SECONDS)

    @property
    def is_last(self) -> bool:
        """True if the indexer has stopped or is silent."""
        return self.is_silent or self.state == STOPPED

    def behind(self) -> Reason | None:
        """Return the reason why the shard may be behind its folder; None if it is up to date."""
        synced = ""
        if self.lag is not None:
            synced = f"; the shard was last up to date with its folder {_moment(self.age + self.lag)}"
        if self.state == STOPPED:
            return Reason("behind", f"the indexer on {self.host} was stopped {_moment(self.age)}{synced}")
        if self.is_silent:
            since = f"the indexer on {self.host} has been silent since {_moment(self.age)}"
            return Reason("behind", f"{since}{synced}")
        if self.reason is None:
            return None
        return Reason(self.reason.code, f"the indexer on {self.host} reports: {self.reason.text}{synced}")


def _moment(seconds_ago: float) -> str:
    return local_time(time.time() - seconds_ago).isoformat(" ", "seconds")
