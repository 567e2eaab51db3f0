"""An engine's figures in words."""

from vaultseek_server.doctor import in_words


def test_numbers_in_words():
    counted = [
        ("notes", 1, 1),
        ("passages", 2000, 2000),
        ("vectors of notes", 3, 2),
        ("second vectors", 5, None),
    ]
    numbers = [{"of": of, "ledger": ledger, "engine": found} for of, ledger, found in counted]
    words = "1 note, 2,000 passages, 2 of 3 vectors of notes, unknown of 5 second vectors"
    assert in_words({"numbers": numbers}) == words
