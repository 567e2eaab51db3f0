"""A shard that an indexer writes, for a searcher: it is read where it is, and nothing of it is kept here."""

from collections.abc import Callable

from vaultseek.base.model import Reason
from vaultseek.engines.heartbeat import Heartbeat, ReceivedHeartbeat
from vaultseek.engines.postgres.backend import PostgresBackend
from vaultseek.engines.postgres.database import ShardLedger
from vaultseek.errors import Unavailable
from vaultseek.settings.engine import EngineOptions
from vaultseek.store.keyword.analysis import ANALYZER_VERSION


class LiveShard:
    """A shard whose tables are the ledger: each look at it shows what has been written since."""

    def __init__(
        self,
        backend: PostgresBackend,
        ledger: ShardLedger,
        vectors: str,
        on_language: Callable[[str | None], None],
    ) -> None:
        """``vectors`` names their version in the state of the shard.

        ``on_language`` is called with the language that the indexer's settings give all notes.
        """
        self._backend = backend
        self._ledger = ledger
        self._heartbeat = ReceivedHeartbeat()
        self._on_language = on_language
        self._language: str | None = None
        self._difference = ""
        """Difference between the indexer and this searcher, by which they give other answers."""
        self._vectors = vectors

    def step(self) -> bool:
        """Refresh the ledger; true if it has changed. Raises Unavailable if the shard is gone or away."""
        state = self._backend.state()
        position, version = state.get("position"), state.get(self._vectors)
        if not position:
            raise Unavailable(missing(self._backend.options), "vault_missing")
        changed = self._ledger.refresh() | self._read(state.get("heartbeat"))
        own = self._ledger.database.own
        changed |= own.get("store") != (version or "")
        own["store"] = version or ""
        self._difference = _other_analysis(position)
        if not self._difference and version is None and self._ledger.counts().notes:
            self._difference = "it has no vectors of this model; set model.name to the same on all machines"
        return changed

    def reason(self) -> Reason | None:
        """Return why the shard may be behind the folder of its indexer, as far as that has said; or None."""
        return self._heartbeat.reason() or (Reason("behind", self._difference) if self._difference else None)

    def is_abandoned(self) -> bool:
        """True if the indexer of the shard has stopped or is silent."""
        return self._heartbeat.is_dead()

    def _read(self, text: str | None) -> bool:
        beat = Heartbeat.of_text(text)
        self._heartbeat.update(beat)
        if beat is None or beat.language == self._language:
            return False
        self._language = beat.language
        self._on_language(beat.language)
        return True


def missing(options: EngineOptions) -> str:
    return f"the engine has no shard {options.shard}; start the indexer that keeps it"


def _other_analysis(position: str) -> str:
    version = position.split(":")[1].partition(".")[0] if position.count(":") == 2 else ""
    if version in ("", str(ANALYZER_VERSION)):
        return ""
    return (
        f"its indexer is another version of vaultseek, which analyses words otherwise ({version}, here "
        f"{ANALYZER_VERSION}); run the same on all machines"
    )
