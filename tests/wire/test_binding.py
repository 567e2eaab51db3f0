"""Parameters of requests, bound to the arguments of handlers."""

from typing import Any, Literal

import pytest

from vaultseek.errors import UsageError
from vaultseek.wire.binding import bound
from vaultseek.wire.context import RequestContext


async def search(
    context: RequestContext,
    *,
    query: str,
    limit: int = 10,
    weight: float = 1.0,
    explain: bool = False,
    vault: str | None = None,
    mode: Literal["hybrid", "keyword"] = "hybrid",
    tags: list[str] | None = None,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {name: value for name, value in locals().items() if name != "context"}


@pytest.mark.parametrize(
    "params",
    [
        {"query": "q"},
        {"query": "q", "limit": 3, "weight": 2, "explain": True, "vault": None, "mode": "keyword"},
        {"query": "", "weight": 0.5, "tags": [], "vault": "v", "settings": {"a": [1]}},
        {"query": "q", "tags": ["a", "b"]},
    ],
)
async def test_what_fits_is_passed_on(params):
    assert (await bound(search)(params, RequestContext())).items() >= params.items()


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({}, "the parameter 'query' is missing"),
        ({"query": 1}, "'query' must be a string"),
        ({"query": None}, "'query' must be a string"),
        ({"query": "q", "limit": "3"}, "'limit' must be a whole number"),
        ({"query": "q", "limit": True}, "'limit' must be a whole number"),
        ({"query": "q", "limit": 1.5}, "'limit' must be a whole number"),
        ({"query": "q", "weight": False}, "'weight' must be a number"),
        ({"query": "q", "explain": 1}, "'explain' must be true or false"),
        ({"query": "q", "vault": 1}, "'vault' must be a string or null"),
        ({"query": "q", "mode": "semantic"}, "'mode' must be 'hybrid' or 'keyword'"),
        ({"query": "q", "mode": ["hybrid"]}, "'mode' must be 'hybrid' or 'keyword'"),
        ({"query": "q", "tags": ["a", 1]}, "'tags' must be a list, each item a string or null"),
        ({"query": "q", "settings": []}, "'settings' must be an object or null"),
        ({"query": "q", "limitt": 3}, "there is no parameter 'limitt'; did you mean 'limit'?"),
        ({"query": "q", "x" * 10_000: 3}, "there is no parameter"),
        ({"query": "q", "context": 3}, "there is no parameter 'context'"),
    ],
)
async def test_what_does_not_fit_is_named(params, complaint):
    with pytest.raises(UsageError) as raised:
        await bound(search)(params, RequestContext())
    assert str(raised.value).startswith(complaint)
    assert len(str(raised.value)) < 200
