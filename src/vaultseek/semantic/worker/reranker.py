"""The daemon's side of the cross-encoder: which one the child has, and loading it before it is needed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.worker.child import Child, WorkerRequest
from vaultseek.semantic.worker.pipe import Frame
from vaultseek.semantic.worker.queues import RERANK

CRASHES = 2
"""Children that a model may end by being loaded before it is not tried any more."""


@dataclass(frozen=True, slots=True)
class _Loading:
    """A model that a child has or is given."""

    child: Child
    model: str
    answer: asyncio.Future[Frame]


class LoadedReranker:
    """The cross-encoder of one child after the other, for one event loop."""

    def __init__(self, seconds: float) -> None:
        """``seconds`` is the time after which loading counts as hung."""
        self._seconds = seconds
        self._loading: _Loading | None = None
        self._crashes: dict[str, int] = {}

    async def load(self, child: Child, model: str, seconds: float | None) -> None:
        """Return when the child has the model, which it loads only once.

        Raises `WorkerUnavailable` if that takes longer than ``seconds`` (the loading goes on) or fails.
        """
        if self._crashes.get(model, 0) >= CRASHES:
            raise WorkerUnavailable(
                f"{model!r} ends the semantic worker; choose another one", "model_unusable"
            )
        loading = self._loading
        if loading is None or loading.child is not child or loading.model != model:
            loading = self._loading = _Loading(child, model, self._ask(child, model))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(loading.answer)
        except TimeoutError:
            raise WorkerUnavailable("the reranker is still being loaded", "loading") from None

    def _ask(self, child: Child, model: str) -> asyncio.Future[Frame]:
        request = WorkerRequest(
            "load_reranker", RERANK, self._seconds, {"model": model}, doing="loading the reranker"
        )
        answer = asyncio.ensure_future(child.ask(request, None))
        answer.add_done_callback(lambda done: self._record(child, model, done))
        return answer

    def _record(self, child: Child, model: str, answer: asyncio.Future[Frame]) -> None:
        """Record how loading ended; what failed is tried again by the next search."""
        if not answer.cancelled() and answer.exception() is None:
            self._crashes.pop(model, None)
            return
        if self._loading is not None and self._loading.answer is answer:
            self._loading = None
        if child.exited.done():
            self._crashes[model] = self._crashes.get(model, 0) + 1
