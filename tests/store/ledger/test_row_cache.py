"""Rows kept between commits are never older than the last commit."""

from vaultseek.store.ledger.database import RowCache


def test_rows_come_in_the_order_of_the_keys_and_are_read_once():
    cache: RowCache[str] = RowCache(10)
    requests: list[list[int]] = []

    def read(keys):
        requests.append(list(keys))
        return {key: f"row {key}" for key in reversed(keys) if key < 5}

    assert list(cache.get_or_read([3, 1], read).items()) == [(3, "row 3"), (1, "row 1")]
    assert list(cache.get_or_read([2, 1, 9, 3], read)) == [2, 1, 3]
    assert requests == [[3, 1], [2, 9]]


def test_a_commit_forgets_every_row():
    cache: RowCache[str] = RowCache(10)
    cache.get_or_read([1], lambda keys: {1: "old"})
    cache.clear()
    assert cache.get_or_read([1], lambda keys: {1: "new"}) == {1: "new"}


def test_a_row_that_was_read_before_a_commit_is_not_kept_after_it():
    cache: RowCache[str] = RowCache(10)

    def read_during_a_commit(keys):
        cache.clear()
        return {1: "old"}

    cache.get_or_read([1], read_during_a_commit)
    assert cache.get_or_read([1], lambda keys: {1: "new"}) == {1: "new"}


def test_it_never_keeps_more_than_its_capacity():
    cache: RowCache[str] = RowCache(2)
    assert len(cache.get_or_read([1, 2, 3], lambda keys: dict.fromkeys(keys, "row"))) == 3
    requests: list[int] = []
    cache.get_or_read([1, 2], lambda keys: dict.fromkeys(keys, "row"))
    cache.get_or_read([3], lambda keys: dict.fromkeys(keys, "row"))
    cache.get_or_read([1, 2], lambda keys: requests.extend(keys) or dict.fromkeys(keys, "row"))
    assert requests == [1, 2]
