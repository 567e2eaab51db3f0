"""Documents for the keyword index, built from freshly parsed notes or from the ledger."""

from collections.abc import Iterable, Iterator, Sequence

from vaultseek.base.model import JSON, Chunk, Note
from vaultseek.content.markdown.property_text import property_lines
from vaultseek.store.keyword.inverter import NAMES, PROPERTIES, KeywordChunk, KeywordDocument
from vaultseek.store.ledger import IndexedNote, Ledger, NoteRow


def stored_documents(ledger: Ledger, ids: Sequence[int]) -> list[KeywordDocument]:
    """Return the documents of the notes with ``ids`` in the ledger; ids that no longer exist are skipped."""
    notes = ledger.notes.by_id(ids)
    chunks = ledger.chunks.by_note(ids)
    return [_document(number, row, chunks[number], row.properties, row) for number, row in notes.items()]


def parsed_document(number: int, indexed: IndexedNote) -> KeywordDocument:
    """Return the document of a parsed note whose id is or will be ``number``."""
    note = indexed.note
    return _document(number, note, indexed.chunks, note.frontmatter, indexed)


def _document(
    number: int,
    note: Note | NoteRow,
    chunks: Iterable[Chunk],
    properties: JSON,
    read: NoteRow | IndexedNote,
) -> KeywordDocument:
    return KeywordDocument(
        note=number,
        path=note.path,
        title=note.title,
        aliases=note.aliases,
        headings=tuple(heading.shown for heading in note.headings),
        tags=note.tags,
        chunks=_chunks(chunks, properties),
        language=read.language,
        name_day=read.name_day,
        day_first=read.day_first,
    )


def _chunks(chunks: Iterable[Chunk], properties: JSON) -> tuple[KeywordChunk, ...]:
    return (
        *(KeywordChunk(chunk.id, chunk.prose_text(), chunk.code_text()) for chunk in chunks),
        *(KeywordChunk(id, text) for id, text in _property_texts(properties) if text),
    )


def _property_texts(properties: JSON) -> Iterator[tuple[str, str]]:
    """Yield two passages made from a note's properties, each as an id and its text. Properties are indexed
    because a part number, for example, may appear only in a property.

    The properties with the note's names and tags form the second passage, which is never shown.
    """
    lines = list(property_lines(properties))
    yield PROPERTIES, "\n".join(line.text for line in lines if not line.is_name)
    yield NAMES, "\n".join(line.text for line in lines if line.is_name)
