"""What was being read when the process ended is known to the next one."""

from __future__ import annotations

from vaultseek.indexing.crash_marker import CrashMarker


def die_reading(file, path="a.md", digest=b"1"):
    """As if the process had ended while it read: the context is never left."""
    reading = CrashMarker(file).reading(path, digest)
    reading.__enter__()
    STARTED.append(reading)


STARTED = []
"""Kept, because a context that is thrown away is left."""


def test_a_note_is_poison_after_the_second_death_and_not_the_first(tmp_path):
    file = tmp_path / "reading"
    die_reading(file)
    assert not CrashMarker(file).is_poison("a.md", b"1")
    die_reading(file)
    after = CrashMarker(file)
    assert after.is_poison("a.md", b"1")
    assert not after.is_poison("a.md", b"2"), "it has changed"
    assert not after.is_poison("b.md", b"1")


def test_a_note_that_can_be_read_after_all_is_forgotten(tmp_path):
    file = tmp_path / "reading"
    die_reading(file)
    again = CrashMarker(file)
    with again.reading("a.md", b"1"):
        pass
    again.close()
    die_reading(file)
    assert not CrashMarker(file).is_poison("a.md", b"1")


def test_a_clean_end_is_no_death(tmp_path):
    file = tmp_path / "reading"
    for _ in range(3):
        crumb = CrashMarker(file)
        with crumb.reading("a long name.md", b"1"):
            pass
        with crumb.reading("b.md", b"1"):
            pass
        crumb.close()
    assert not CrashMarker(file).is_poison("b.md", b"1")


def test_what_is_damaged_is_begun_anew(tmp_path):
    file = tmp_path / "reading"
    file.with_name("reading.json").write_bytes(b"\xff{")
    die_reading(file)
    die_reading(file)
    assert CrashMarker(file).is_poison("a.md", b"1")
