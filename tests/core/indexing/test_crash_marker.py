"""The note that was being parsed during a crash is known to the next process."""

from vaultseek.core.indexing.crash_marker import CrashMarker


def crash(file, path="a.md", digest=b"1"):
    """Stop in the middle of parsing; the context is never exited."""
    parsing = CrashMarker(file).parsing(path, digest)
    parsing.__enter__()
    STARTED.append(parsing)


STARTED = []
"""References to contexts, because a garbage-collected context is exited."""


def test_a_note_is_blocked_after_the_second_crash_and_not_the_first(tmp_path):
    file = tmp_path / "reading"
    crash(file)
    assert not CrashMarker(file).is_blocked("a.md", b"1")
    crash(file)
    after = CrashMarker(file)
    assert after.is_blocked("a.md", b"1")
    assert not after.is_blocked("a.md", b"2"), "it has changed"
    assert not after.is_blocked("b.md", b"1")


def test_a_note_that_can_be_parsed_after_all_is_forgotten(tmp_path):
    file = tmp_path / "reading"
    crash(file)
    again = CrashMarker(file)
    with again.parsing("a.md", b"1"):
        pass
    again.close()
    crash(file)
    assert not CrashMarker(file).is_blocked("a.md", b"1")


def test_a_clean_end_is_no_crash(tmp_path):
    file = tmp_path / "reading"
    for _ in range(3):
        marker = CrashMarker(file)
        with marker.parsing("a long name.md", b"1"):
            pass
        with marker.parsing("b.md", b"1"):
            pass
        marker.close()
    assert not CrashMarker(file).is_blocked("b.md", b"1")


def test_a_process_that_is_told_to_end_is_no_crash(tmp_path):
    file = tmp_path / "reading"
    for path in ("a.md", "b.md", "b.md", "b.md"):
        marker = CrashMarker(file)
        with marker.parsing("a.md", b"1"):
            marker.abandon()
        STARTED.append(marker.parsing(path, b"1"))
        STARTED[-1].__enter__()
    after = CrashMarker(file)
    assert not after.is_blocked("a.md", b"1")
    assert not after.is_blocked("b.md", b"1")


def test_a_damaged_file_is_begun_anew(tmp_path):
    file = tmp_path / "reading"
    file.with_name("reading.json").write_bytes(b"\xff{")
    crash(file)
    crash(file)
    assert CrashMarker(file).is_blocked("a.md", b"1")
