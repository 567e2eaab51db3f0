"""Snapshots of an open vault for clients: its status, the progress of its indexing, and its lanes."""

from vaultseek.base.model import JSON, Reason, reason_json
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.status import VaultStatus
from vaultseek.errors import Unavailable
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.store.graph import GRAPH_MISSING


def status_of(vault: OpenVault, worker: SemanticWorker) -> VaultStatus:
    """Return a snapshot of the vault and its index. Reads the ledger, so call it in a thread."""
    ledger, options = vault.ledger, vault.options
    try:
        computed, problems = ledger.vectors.embeddings_computed(), ledger.problems.all()
    except Unavailable:  # the ledger of a searcher is where the engine is
        computed, problems = 0, []
    return VaultStatus(
        name=options.name,
        path=str(options.root),
        activity=vault.activity,
        counts=ledger.counts(),
        embeddings_computed=computed,
        rate=vault.embedding.rate.per_second(),
        revision=ledger.revision,
        problems=problems,
        lanes=_lanes(vault, worker),
        models=vault.spaces.as_json(),
    )


def progress_of(vault: OpenVault, worker: SemanticWorker, *, vectors: bool) -> JSON:
    """Return the vault's ``index/progress`` notification; without ``vectors`` they are not waited for."""
    reason = waiting_reason(vault, worker)
    return vault.activity.progress_json(
        vault.name,
        vault.ledger.counts(),
        vault.embedding.rate.per_second(),
        vectors=vectors,
        waiting_for=reason.text if reason else None,
    )


def waiting_reason(vault: OpenVault, worker: SemanticWorker) -> Reason | None:
    """Return why the index cannot be completed now, or None."""
    behind, state = vault.keyword_reason(), worker.state
    if vault.activity.embed_problem is not None:
        return vault.activity.embed_problem
    if state.status != "ready":
        return state.reason or Reason("loading", "the model is being loaded")
    return behind if behind is not None and behind.code == "behind" else None


def _lanes(vault: OpenVault, worker: SemanticWorker) -> JSON:
    state = worker.state
    semantic_up = vault.embedding.ready and state.status == "ready"
    unready = Reason("being_built", "the vectors are not ready yet")
    away = None  # what is known of an engine without asking it
    if vault.engine.outage is not None:
        away = Reason.of(vault.engine.outage)
    elif vault.activity.state == "shard_missing":
        away = vault.activity.reason
    reasons = {
        "keyword": away or vault.keyword_reason(),
        "semantic": away
        or (None if semantic_up else vault.activity.embed_problem or state.reason or unready),
        "graph": None if vault.graph else GRAPH_MISSING,
    }
    return {lane: {"up": reason is None, **reason_json(reason)} for lane, reason in reasons.items()}
