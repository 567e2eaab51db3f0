"""Read plain text files: only lines, without headings or links.

A text file does not state its encoding; if it is not Unicode, the most likely encoding is guessed.
"""

import re
from collections.abc import Sequence

from vaultseek.base.model import Note, Problem
from vaultseek.content.extractors.composition import name_of, paragraphs, plain_lines
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.rendering import render_plain


def read(data: bytes, path: str) -> Note:
    """Read a text file as a note. Line numbers are those of the file."""
    text, problems = decode_any(data)
    lines = plain_lines(text) if text else []
    return Note(
        path,
        name_of(path),
        lines=tuple(lines),
        spans=tuple(paragraphs(lines, 1)),
        problems=problems,
        edits=render_plain(lines, 1),
    )


PROBE_BYTES = 64 * 1024
WESTERN_SHARE = 0.3
"""Maximum number of non-ASCII bytes in text in Latin script, relative to the number of letters. In such text,
only some letters have accents."""
_OF_LETTERS = ("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp1250", "cp1252")
_OF_SYLLABLES = ("cp932", "euc_jp", "gb18030", "big5", "cp949")
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_EAST_OF_GERMANY = re.compile("[a-z][¹³¿¼¾Ÿ]|[¹³¿¼¾][a-zê]", re.ASCII)
"""Character sequences within words. They show that text in Polish, Czech or a similar language was decoded as
Western European."""
_NAMES = {"cp932": "Shift_JIS", "cp949": "EUC-KR", "gb18030": "GBK"}


def decode_any(data: bytes) -> tuple[str, tuple[Problem, ...]]:
    """Decode the bytes of a file, guessing the encoding if it is not Unicode; return the text and any
    problems.
    """
    text, problems = decode(data)
    broken = text.count("\ufffd")
    if not broken or not any(problem.code == "bad_encoding" and problem.line for problem in problems):
        return text, problems
    if sum(character > "\x7f" for character in text) > 2 * broken:
        return text, problems  # treat it as damaged UTF-8
    probe = data[:PROBE_BYTES]
    encoding = _likeliest(probe if len(data) == len(probe) else probe.rpartition(b"\n")[0] or probe)
    name = _NAMES.get(encoding, encoding.upper().replace("_", "-").replace("CP125", "windows-125"))
    problem = Problem("bad_encoding", f"read as {name} (guessed); save the file as UTF-8")
    return data.decode(encoding, errors="replace"), (problem,)


def _likeliest(probe: bytes) -> str:
    letters = len(probe.translate(None, b" \t\r\n"))
    if sum(byte > 0x7F for byte in probe) < WESTERN_SHARE * letters:
        western = probe.decode("cp1252", errors="replace")
        return "cp1250" if _EAST_OF_GERMANY.search(western) else "cp1252"
    best = _best(probe, (*_OF_LETTERS, *_OF_SYLLABLES))
    text = probe.decode(best, errors="replace")
    # Nobody writes whole texts in half-width kana, but other languages may be decoded as half-width kana.
    return _best(probe, _OF_LETTERS) if len(_HALF_WIDTH.findall(text)) > len(text) / 4 else best


def _best(probe: bytes, encodings: Sequence[str]) -> str:
    # Needed for few files, so not imported at the top.
    from charset_normalizer import from_bytes

    best = from_bytes(probe, cp_isolation=list(encodings)).best()
    return "cp1252" if best is None or best.encoding not in encodings else best.encoding
