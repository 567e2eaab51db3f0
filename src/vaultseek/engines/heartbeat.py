"""The heartbeat of an indexer: a sign that it is running, and how far its shard is behind the folder.

It is kept beside the shard in the engine, for searchers, which see no folder. A searcher goes by its own
clock: what counts is when the heartbeat last changed.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from vaultseek.base.failpoints import seconds_of
from vaultseek.base.model import REASON_CODES, Reason

BEAT_SECONDS = 10.0
"""Time between two heartbeats."""
SILENCE_SECONDS = 60.0
"""Time without a heartbeat after which a searcher reports its indexer as silent."""
STOPPED = "stopped"
"""The state of an indexer that has ended as it should."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The state of an indexer at a time, in seconds since the epoch by its own clock.

    ``synced_at`` is when the shard last had all that is in the folder; None if it never had. ``language`` is
    the one that the settings give all notes.
    """

    at: float
    host: str
    state: str
    synced_at: float | None = None
    reason: Reason | None = None
    language: str | None = None

    def as_text(self) -> str:
        """Return it as JSON."""
        reason = None if self.reason is None else [self.reason.code, self.reason.text]
        return json.dumps([self.at, self.host, self.state, self.synced_at, reason, self.language])

    @classmethod
    def of_text(cls, text: str | None) -> Heartbeat | None:
        """Return what ``as_text`` wrote; None for anything else, such as that of a later version."""
        try:
            at, host, state, synced_at, reason, language = json.loads(text or "")[:6]
            known = reason and _reason(*reason)
            return cls(float(at), str(host), str(state), synced_at and float(synced_at), known, language)
        except (ValueError, TypeError, LookupError):
            return None


@dataclass(slots=True)
class ReceivedHeartbeat:
    """The last heartbeat of an indexer, and when it changed by the clock of this machine."""

    beat: Heartbeat | None = None
    _changed: float | None = field(default=None)
    _ahead: float = field(default=0.0)
    """Seconds by which the clock of the indexer is ahead of this one, as far as that has shown."""
    _asked: float = field(default=0.0)

    def update(self, beat: Heartbeat | None, now: float | None = None, wall: float | None = None) -> None:
        """Take the heartbeat that the engine has now; the first may be old already, by both clocks."""
        now = time.monotonic() if now is None else now
        wall = time.time() if wall is None else wall
        age = 0.0 if beat is None else wall - beat.at
        if self._changed is None:
            self._changed = now - max(0.0, age)
            self._ahead = max(0.0, -age)
        elif beat is not None and beat != self.beat:
            self._changed = now
            if now - self._asked < SILENCE_SECONDS:  # else it may be old, though it is new here
                self._ahead = -age
        self._asked = now
        self.beat = beat or self.beat

    def is_dead(self, now: float | None = None) -> bool:
        """True if the indexer has stopped or is silent, false also before anything is known."""
        now = time.monotonic() if now is None else now
        return self._is_silent(now) or (self.beat is not None and self.beat.state == STOPPED)

    def _clock_difference(self) -> str:
        """Return a remark that the indexer's clock and this one differ, if they do."""
        minutes = round(abs(self._ahead) / 60)
        side = "ahead of" if self._ahead > 0 else "behind"
        return f", by its clock, which is {minutes:,} min {side} the one here" if minutes else ""

    def _is_silent(self, now: float) -> bool:
        limit = seconds_of("indexer.silence", SILENCE_SECONDS)
        return self._changed is not None and now - self._changed > limit

    def reason(self, now: float | None = None) -> Reason | None:
        """Return why the shard may be behind its folder, or None."""
        now = time.monotonic() if now is None else now
        beat = self.beat
        is_silent = self._is_silent(now)
        if beat is None:
            return Reason("behind", "no heartbeat from its indexer yet") if is_silent else None
        synced = (
            f"; the shard was last up to date with its folder {_moment(beat.synced_at)}"
            if beat.synced_at
            else ""
        )
        synced += self._clock_difference()
        if beat.state == STOPPED:
            return Reason("behind", f"its indexer on {beat.host} was stopped {_moment(beat.at)}{synced}")
        if is_silent:
            return Reason(
                "behind", f"its indexer on {beat.host} has been silent since {_moment(beat.at)}{synced}"
            )
        if beat.reason is None:
            return None
        return Reason(beat.reason.code, f"its indexer on {beat.host} reports: {beat.reason.text}{synced}")


def _reason(code: str, text: str) -> Reason:
    return Reason(next((known for known in REASON_CODES if known == code), "behind"), str(text))


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
