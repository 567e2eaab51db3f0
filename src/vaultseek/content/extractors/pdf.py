"""Read PDFs: the text of each page, the title and the outline. Pages without text are read by OCR if it is
enabled.
"""

import math
import re
import struct
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

from pypdfium2 import PdfDocument, PdfiumError

from vaultseek.base.extras import has_extra
from vaultseek.base.limits import OCR_PAGES, OCR_PIXELS, PDF_OUTLINE, PDF_PAGES
from vaultseek.base.model import Note
from vaultseek.base.text import fold
from vaultseek.content.extractors import picture
from vaultseek.content.extractors.composition import LEVELS, Composition, named_only, one_line, plain_lines

_HYPHEN = re.compile(r"[\x02\ufffe]\r?\n?")
_NO_TITLE = re.compile(
    r"(?i)^$|^(?:untitled|microsoft (?:word|powerpoint|excel)|powerpoint|slide|document|title)\b"
    r"|\.(?:docx?|pptx?|xlsx?|dvi|tex|indd|qxd|pdf|ps|html?|odt|rtf|txt)$"
)
_NUMBERING = re.compile(r"(?:\d+|[ivxlc]+|[a-z])(?:\.\d+)*[.):]?")
_OCR_DOTS = 2.5
"""Scale at which a page is rendered for OCR, in pixels per point; large pages are scaled down."""
_SCREEN_DOTS = 2.0
"""Scale at which a page is rendered for a screen, in pixels per point."""
SCREEN_PIXELS = 6_000_000
"""Maximum number of pixels in a page rendered for a screen."""
NEED_OCR = "no text, only scanned images; to read them, add the ocr extra, and add ocr to [index] kinds"


def read(data: bytes, path: str, *, ocr: bool = False) -> Note:
    """Read a PDF as a note. Each page is a separate part, ``page=N``; the outline provides the headings."""
    try:
        document = PdfDocument(data)
        pages = len(document)
    except PdfiumError as error:
        if "password" in str(error).lower():
            return named_only(path, "locked", "the PDF needs a password; save a copy without one")
        return named_only(path, "damaged", "not a PDF, or damaged; open it and save it again")
    made = Composition(path)
    outline = _outline(document)
    scanned: list[int] = []
    for number in range(min(pages, PDF_PAGES)):
        if made.full:
            break
        text = _text_of(document, number)
        if not text.strip():
            scanned.append(number)
            if ocr and len(scanned) <= OCR_PAGES:
                text = _recognized(document, number)
        made.place(f"page={number + 1}", LEVELS)
        _write_page(text, outline.get(number, ()), made)
    if pages > PDF_PAGES:
        made.problem("too_many_pages", f"more than {PDF_PAGES:,} pages; only the first ones are searched")
    if scanned and ocr and not has_extra("ocr"):
        made.problem("no_ocr", picture.NOT_INSTALLED)
    elif len(scanned) > OCR_PAGES and ocr:
        made.problem(
            "too_many_pages", f"more than {OCR_PAGES} scanned pages; only the first ones are searched"
        )
    if scanned and not ocr:
        which = "this PDF" if len(scanned) == pages else f"page {scanned[0] + 1}"
        more = f" and {len(scanned) - 1} more" if 1 < len(scanned) < pages else ""
        made.problem("no_text", f"{which}{more} {'have' if more else 'has'} {NEED_OCR}")
    return made.note(_title(document))


def draw(data: bytes, number: int) -> bytes:
    """Render a page as a PNG; ``number`` is 1-based. Raises PdfiumError or IndexError."""
    page = PdfDocument(data)[number - 1]
    area = max(page.get_width() * page.get_height(), 1.0)
    pixels = page.render(
        scale=min(_SCREEN_DOTS, math.sqrt(SCREEN_PIXELS / area)), rev_byteorder=True
    ).to_numpy()
    height, width, _ = pixels.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # each row begins with its filter type: 0, none
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 4))
        + chunk(b"IEND", b"")
    )


def _title(document: PdfDocument) -> str:
    try:
        title = one_line(document.get_metadata_dict().get("Title") or "")
    except (PdfiumError, UnicodeError):
        return ""
    return "" if _NO_TITLE.search(title) else title


def _outline(document: PdfDocument) -> Mapping[int, Sequence[tuple[int, str]]]:
    entries: dict[int, list[tuple[int, str]]] = defaultdict(list)
    try:
        for count, entry in enumerate(document.get_toc(max_depth=15)):
            if count >= PDF_OUTLINE:
                break
            target = entry.get_dest()
            page = target.get_index() if target is not None else None
            title = one_line(entry.get_title())
            if page is not None and title:
                entries[page].append((entry.level + 1, title))
    except (PdfiumError, UnicodeError, RecursionError):
        return entries
    return entries


def _text_of(document: PdfDocument, number: int) -> str:
    try:
        page = document[number]
        try:
            text = page.get_textpage().get_text_bounded()
        finally:
            page.close()
    except PdfiumError:
        return ""
    return _HYPHEN.sub("", str(text))


def _write_page(text: str, headings: Sequence[tuple[int, str]], made: Composition) -> None:
    """Add a page's text, with its headings from the outline.

    A heading replaces the line with the same text, even if the line also has a leading number. If there is no
    such line, the heading goes to the top of the page.
    """
    lines = plain_lines(text) if text.strip() else []
    by_line: dict[int, list[tuple[int, str]]] = defaultdict(list)
    places, numbered = _places_of(lines) if headings else ({}, {})
    for level, title in headings:
        words = fold(title)
        if (at := places.get(words, -1)) == -1 and (at := numbered.get(words, -1)) != -1:
            title = one_line(lines[at])
        by_line[at].append((level, title))
    for level, title in by_line.pop(-1, ()):
        made.heading(level, title)
    begun = 0
    for at in sorted(by_line):
        if any(map(str.strip, lines[begun:at])):
            made.paragraph("\n".join(lines[begun:at]))
        for level, title in by_line[at]:
            made.heading(level, title)
        begun = at + 1
    if any(map(str.strip, lines[begun:])):
        made.paragraph("\n".join(lines[begun:]))


def _places_of(lines: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Return two maps to the index of the first matching line: one keyed by the line's text, the other by the
    text without its leading number.
    """
    places: dict[str, int] = {}
    numbered: dict[str, int] = {}
    for index, line in enumerate(lines):
        text = fold(one_line(line))
        places.setdefault(text, index)
        number, _, words = text.partition(" ")
        if _NUMBERING.fullmatch(number):
            numbered.setdefault(words, index)
    return places, numbered


def _recognized(document: PdfDocument, number: int) -> str:
    if not has_extra("ocr"):
        return ""
    page = document[number]
    try:
        area = max(page.get_width() * page.get_height(), 1.0)
        scale = min(_OCR_DOTS, math.sqrt(OCR_PIXELS / area))
        return picture.recognize(page.render(scale=scale).to_numpy())
    finally:
        page.close()
