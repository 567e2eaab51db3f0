"""Propose the edits that renaming a note, heading or tag requires in other notes. This module never writes to
files.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from mimetypes import guess_type
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from vaultseek.base.model import JSON, Heading, Link, Note, Place
from vaultseek.base.text import fold, fold_case, quote
from vaultseek.content.extractors.canvas import FILE_FIELDS, Written, file_target, written_fields
from vaultseek.content.files.obsidian import has_obsidian
from vaultseek.content.files.read import read_note
from vaultseek.content.kinds import is_markdown, kind_of
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.links import markdown_link, parse_destination, wikilink
from vaultseek.content.markdown.parse import lines_of, parse
from vaultseek.content.markdown.resolve import NOTE_SUFFIX, Names, name_keys
from vaultseek.content.markdown.spelling import (
    can_be_in_brackets,
    can_be_linked,
    is_wikilink,
    linkable_heading,
    moved_target,
    rewritten,
    with_fragment,
    with_target,
)
from vaultseek.core.notes.anchors import Anchors, has_unplaced_tag, plain_name, tag_places
from vaultseek.core.notes.named_paths import naming_moved
from vaultseek.errors import NotFound, UsageError
from vaultseek.store.ledger import Ledger, LinkRow, NoteRow

NAME_BYTES = 255
"""Maximum number of bytes in a file name on common file systems."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Edit that replaces ``old`` with ``new`` in a line of the note at ``path``."""

    path: str
    place: Place
    old: str
    new: str

    def as_json(self) -> JSON:
        """Return the edit as JSON for an answer; columns are 1-based."""
        line, start, end = self.place
        return {
            "path": self.path,
            "line": line,
            "column": start + 1,
            "end_column": end + 1,
            "old": self.old,
            "new": self.new,
        }


class Vault:
    """The parts of a vault that renaming needs: names, ledger and note texts.

    ``left`` contains the files that cannot be updated: files with a condition that names a path, and files
    with a link whose exact position is unknown.
    """

    def __init__(
        self, root: Path, ledger: Ledger, names: Names, skips: Callable[[str], bool] = lambda path: False
    ) -> None:
        self.portable = not has_obsidian(root)
        self.skips = skips
        self.ledger = ledger
        self.names = names
        self.left: list[str] = []
        self._root = root

    def leave(self, path: str) -> None:
        """Record that the file at ``path`` has a link or tag that cannot be updated."""
        if path not in self.left:
            self.left.append(path)

    def lines(self, path: str) -> Sequence[str] | None:
        """Return the lines of the text file at ``path``; None if it cannot be read."""
        file = read_note(self._root, path)
        if file is None or file.problem is not None:
            return None
        text, _ = decode(file.data)
        return lines_of(text)

    def notes(self, path: str) -> Iterator[tuple[Note, Callable[[Edit], Edit]]]:
        """Yield the Markdown texts in a file: the note itself, or each card of a canvas.

        Each text comes with a function that converts an edit of the text to an edit of the file.
        """
        lines = self.lines(path) or ()
        if is_markdown(path):
            yield parse("\n".join(lines), path), lambda edit: edit
        for field in _fields(path, lines):
            if field.field == "text":
                # The line break keeps a rule at the beginning of a card from being read as frontmatter.
                yield parse(f"\n{field.text}", path), partial(_in_card, field)


# -- notes and other files


def all_moves(moves: Mapping[str, str], names: Names) -> dict[str, str]:
    """Convert moves of files and folders to moves of single files. Raises UsageError for a new path that is
    not allowed.
    """
    files: dict[str, str] = {}
    for old, new in moves.items():
        if old in names:
            files[old] = new
            continue
        inside = [path for path in names.paths() if path.startswith(f"{old}/")]
        files |= {path: new + path[len(old) :] for path in inside}
    for old, new in files.items():
        if not can_be_linked(new) and can_be_linked(old):
            raise UsageError(f"links cannot point to {quote(new)}; leave out # ^ | [ ] and \\")
        if _suffix(old) and not _suffix(new):
            raise UsageError(f"{quote(new)} has no extension; choose {quote(new + _suffix(old))}")
    return {old: new for old, new in files.items() if old != new}


def rename_notes(moves: Mapping[str, str], vault: Vault) -> list[Edit]:
    """Return the edits that keep links pointing to the same files when files move.

    Raises UsageError.
    """
    moves = all_moves(moves, vault.names)
    if not moves:
        return []
    for new in moves.values():
        if vault.skips(new):
            raise UsageError(
                f"{quote(new)} would be hidden or excluded from the vault; choose another location"
            )
    after = vault.names.moved(moves)
    keys: set[str] = set()
    ids = []
    for old, new in moves.items():
        row = vault.ledger.notes.by_path(old)
        aliases = row.aliases if row else ()
        keys |= name_keys(old, aliases) | name_keys(new, aliases)
        ids += [row.id] if row else []
    links = {_key(link): link for link in vault.ledger.links.by_keys(sorted(keys))}
    links |= {_key(link): link for link in vault.ledger.links.from_notes(ids)}
    targets = Moves(moves, vault.names, after, portable=vault.portable)
    edits = list(_edits(links.values(), vault, targets))
    for path in naming_moved(moves, vault.names.paths(), vault.ledger, vault.notes, vault.lines):
        vault.leave(path)
    return with_links_to_headings(edits, vault)


class Moves:
    """Targets that links must have after files move."""

    def __init__(
        self, moves: Mapping[str, str], names: Names, after: Names | None = None, *, portable: bool = False
    ) -> None:
        """Prepare the targets for ``moves``.

        ``portable`` is true if other programs also read the vault: they accept only relative paths in
        Markdown links.
        """
        self._moves = moves
        self._portable = portable
        self._names = names
        self._after = after or names.moved(moves)

    def file(self, path: str, source: str) -> str:
        """Return the path that a canvas must use for a file after the moves.

        It is a full path if other programs read the vault, because they accept no other paths.
        """
        before = self._names.resolve(file_target(path), source).path
        if before is None:
            return path
        now = self._moves.get(before, before)
        if fold_case(path) == fold_case(before):
            return path if now == before else now
        leads = self._after.resolve(file_target(path), self._moves.get(source, source)).path == now
        return path if leads else now

    def of(self, link: Link, source: str) -> str | None:
        """Return the target of a link in the note ``source`` after the moves; None if no target can lead to
        the file.
        """
        before = self._names.resolve(link.target, source)
        if not link.target or before.path is None:
            return link.target
        now = self._moves.get(source, source), self._moves.get(before.path, before.path)
        was = source, before.path
        return moved_target(link, was, now, self._after, by_alias=before.by_alias, portable=self._portable)


def _key(link: LinkRow) -> tuple[int, int, Place | None, str]:
    return link.note, link.link.line, link.link.place, link.link.target


def _edits(links: Iterable[LinkRow], vault: Vault, targets: Moves) -> Iterator[Edit]:
    by_place = sorted(links, key=lambda row: (row.source, row.link.line, row.link.place or ()))
    for source, rows in groupby(by_place, key=lambda row: row.source):
        edits = [*_edits_of(source, [row.link for row in rows], vault, targets)]
        if None in edits:
            vault.leave(source)
        yield from (edit for edit in edits if edit)


def _edits_of(path: str, links: Sequence[Link], vault: Vault, targets: Moves) -> Iterable[Edit | None]:
    """Return the edits for these links in a file; None stands for a link that cannot be updated."""
    lines: Sequence[str] | None = None
    if kind_of(path) == "canvas" or any(link.kind == "embed" for link in links):
        lines = vault.lines(path) or ()  # full paths of cards and Markdown images are only in the text
    now = [(link, targets.of(as_written(link, lines or ()), path)) for link in links]
    moved = [(link, target) for link, target in now if target != link.target]
    if not moved and kind_of(path) != "canvas":
        return ()
    lines = vault.lines(path) or () if lines is None else lines
    if is_markdown(path):
        edits = [_quick_edit(path, link, target, lines) for link, target in moved]
        if None not in edits:
            return edits
    # The note has changed since it was indexed, or a link's target is written elsewhere.
    return _read_edits(path, lines, {link.target for link, _ in moved}, vault, targets)


def _read_edits(
    path: str, lines: Sequence[str], wanted: Collection[str], vault: Vault, targets: Moves
) -> Iterator[Edit | None]:
    """Read a file's links, and yield the edits for links whose target is in ``wanted``."""
    found = set()
    for note, put in vault.notes(path):
        found |= {link.target for link in note.links}
        yield from (edit and put(edit) for edit in note_edits(note, targets))
    for field in _fields(path, lines):
        if field.field in FILE_FIELDS:
            found.add(file_target(field.text))
            if (new := targets.file(field.text, path)) != field.text:
                yield Edit(path, field.whole, field.raw, field.escaped(new))
    if kind_of(path) == "org":
        from vaultseek.content.extractors import org  # needed for few vaults, so not imported at the top

        for link in org.links(lines):
            found.add(link.target)
            if (target := targets.of(link, path)) != link.target:
                yield _org_edit(path, link, target, lines, org.links)
    if not is_markdown(path) and not found.issuperset(wanted):
        yield None


def _org_edit(
    path: str,
    link: Link,
    target: str | None,
    lines: Sequence[str],
    read: Callable[[Sequence[str]], Iterable[Link]],
) -> Edit | None:
    if target is None or link.written is None:
        return None
    number, start, end = link.written
    line = lines[number - 1]
    fits = target in (each.target for each in read([line[:start] + target + line[end:]]))
    return Edit(path, link.written, link.target, target) if fits else None


def _fields(path: str, lines: Sequence[str]) -> Iterator[Written]:
    return written_fields(lines) if kind_of(path) == "canvas" else iter(())


def _in_card(field: Written, edit: Edit) -> Edit:
    """Return an edit of a card's text as an edit of the canvas that contains the card."""
    place = field.place(edit.place._replace(line=edit.place.line - 1))
    old = field.raw[place.start - field.start : place.end - field.start]
    return Edit(edit.path, place, old, field.escaped(edit.new))


def note_edits(note: Note, targets: Moves) -> Iterator[Edit | None]:
    """Yield the edits for a note whose links were just read; None for a link that cannot be updated."""
    seen = set()
    for link in note.links:
        target = targets.of(as_written(link, note.lines), note.path)
        if target == link.target or (link.written and link.written in seen):
            continue
        seen.add(link.written)
        yield link_edit(note.path, link, link.written, target, note.lines)


def link_edit(
    path: str, link: Link, written: Place | None, target: str | None, lines: Sequence[str]
) -> Edit | None:
    """Return the edit that replaces the target of a link; None if ``target`` cannot be written in this kind
    of link."""
    if target is None or written is None:
        return None
    old = lines[written.line - 1][written.start : written.end]
    markdown = not in_brackets(written, lines)
    if not markdown and not can_be_in_brackets(target):
        return None
    new = rewritten(old, target, markdown=markdown, quote=quote_before(link, lines))
    return Edit(path, written, old, new)


def quote_before(link: Link, lines: Sequence[str]) -> str:
    """Return the quotation mark that opens the property containing a link; "" for a link in the body."""
    if link.property is None or link.place is None:
        return ""
    before = lines[link.place.line - 1][: link.place.start].rstrip()
    return before[-1:] if before.endswith(("'", '"')) else ""


def as_written(link: Link, lines: Sequence[str]) -> Link:
    """Return a Markdown image as a Markdown link, and any other link unchanged."""
    place = link.place
    if link.kind != "embed" or place is None or place.line > len(lines):
        return link
    is_image = re.match(r"!\[(?!\[)", lines[place.line - 1][place.start :])
    return replace(link, kind="markdown") if is_image else link


def in_brackets(written: Place, lines: Sequence[str]) -> bool:
    """True if the link target at this position belongs to a wikilink."""
    line = lines[written.line - 1]
    return line[: written.start].endswith("[[") and line[written.end :].startswith("]]")


def _quick_edit(path: str, link: Link, target: str | None, lines: Sequence[str]) -> Edit | None:
    """Return the edit for a link at its indexed position; None if the link is no longer there."""
    place = link.place
    if place is None or place.line > len(lines):
        return None
    raw = lines[place.line - 1][place.start : place.end]
    span = _wiki_span(raw, link) if is_wikilink(raw) else _markdown_span(raw, link)
    if span is None:
        return None
    written = Place(place.line, place.start + span[0], place.start + span[1])
    return link_edit(path, link, written, target, lines)


def _wiki_span(raw: str, link: Link) -> tuple[int, int] | None:
    if not raw.endswith("]]"):
        return None
    start = raw.index("[[") + 2
    read = wikilink(raw[start:-2], link.kind, link.line, link.property)
    return (start, len(raw) - 2) if read == link else None


def _markdown_span(raw: str, link: Link) -> tuple[int, int] | None:
    opening = raw.rfind("](")
    if opening < 0:
        return None
    written, end = parse_destination(raw, opening + 1)
    if end != len(raw):
        return None
    alias = raw[1 + raw.startswith("!") : opening]
    if markdown_link(written, link.kind, alias, link.line, link.property) != link:
        return None
    start = raw.find(written, opening + 2)
    return start, start + len(written)


# -- headings


def rename_heading(row: NoteRow, heading: str, text: str, vault: Vault) -> list[Edit]:
    """Return the edits that change the text of a heading and all links to it.

    Raises NotFound if the heading is missing, or UsageError if the heading has several lines.
    """
    own = parse("\n".join(vault.lines(row.path) or ()) if is_markdown(row.path) else "", row.path)
    chain = Anchors(own.headings).chain(heading)
    if chain is None:
        raise NotFound(
            f"{quote(row.path)} has no heading {quote(heading)}; save the note, or choose another heading"
        )
    edit = heading_edit(own, chain[-1], text)
    return with_links_to_headings([edit], vault, {row.path: {chain[-1]: text}})


def with_links_to_headings(
    edits: Sequence[Edit], vault: Vault, texts: Mapping[str, Mapping[int, str]] = MappingProxyType({})
) -> list[Edit]:
    """Return ``edits``, and edits for all links to the headings that ``edits`` change.

    An edit changes a heading if it replaces the heading's text or a link in the heading. ``texts`` maps a
    path to a dict from heading number to new text, for headings whose new text does not follow from
    ``edits``.
    """
    by_path: dict[str, dict[Place, Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, {})[edit.place] = edit
    done: dict[str, set[int]] = {}
    waiting = dict.fromkeys(by_path)
    while waiting:
        path, _ = waiting.popitem()
        note, changed = _changed_headings(path, by_path[path], texts.get(path, {}), vault)
        if changed.keys() <= done.get(path, set()):
            continue
        done[path] = set(changed)  # only once, because two headings may link to each other
        for edit in _links_to_headings(note, changed, vault):
            of_path = by_path.setdefault(edit.path, {})
            if texts and any(_is_inside(edit, each) for each in edits):
                continue  # this link is in a heading that is replaced as a whole
            moved = of_path.get(edit.place)
            # The path comes from the file's move, the fragment from the heading's new text.
            new = edit.new if moved is None else with_target(edit.new, moved.new)
            of_path[edit.place] = replace(edit, new=new)
            waiting[edit.path] = None
    return [edit for of_path in by_path.values() for edit in of_path.values()]


def _is_inside(edit: Edit, other: Edit) -> bool:
    (line, start, end), place = edit.place, other.place
    same_line = (edit.path, line) == (other.path, place.line)
    return same_line and place != edit.place and place.start <= start and end <= place.end


def _changed_headings(
    path: str, edits: Mapping[Place, Edit], texts: Mapping[int, str], vault: Vault
) -> tuple[Note, dict[int, str]]:
    """Return a note, and a dict from heading number to the new text of each heading that these edits change.

    ``texts`` has new heading texts that are already known.
    """
    row = vault.ledger.notes.by_path(path) if is_markdown(path) else None
    headings = row.headings if row else ()
    lines = {place.line for place in edits}
    is_changed = texts or (
        any(lines & set(_lines_of(heading)) for heading in headings)
        and any(row.link.heading for row in vault.ledger.links.to_paths([path]))
    )
    if not is_changed:  # parsing is slow, so skip it if no heading has changed
        return Note(path, ""), {}
    note = parse("\n".join(vault.lines(path) or ()), path)
    after = parse(_edited(note.lines, edits.values()), path)
    pairs = enumerate(zip(note.headings, after.headings, strict=False))
    changed = {at: new.text for at, (old, new) in pairs if plain_name(old.text) != plain_name(new.text)}
    return note, {**changed, **texts}


def _lines_of(heading: Heading) -> range:
    return range(heading.line, heading.line + heading.text.count("\n") + 1)


def _links_to_headings(own: Note, texts: Mapping[int, str], vault: Vault) -> Iterator[Edit]:
    """Yield the edits for all links to the changed headings of a note.

    ``texts`` maps heading numbers to new heading texts.
    """
    path, anchors = own.path, Anchors(own.headings)
    yield from heading_links(own, path, anchors, texts, _leading(own, path, vault))
    wanted: dict[str, set[str]] = {}
    for row in vault.ledger.links.to_paths([path]):
        fragment = row.link.heading
        if row.source != path and fragment and renamed_fragment(fragment, anchors, texts) is not None:
            wanted.setdefault(row.source, set()).add(fold(fragment))
    for source, fragments in sorted(wanted.items()):
        found = set()
        for note, put in vault.notes(source):
            leading = _leading(note, path, vault)
            found |= {
                fold(link.heading or "") for link in note.links if link.place in leading and link.written
            }
            yield from map(put, heading_links(note, path, anchors, texts, leading))
        for file, part in pairwise(_fields(source, vault.lines(source) or ())):
            if (file.field, part.field) != ("file", "subpath"):
                continue
            fragment = part.text.removeprefix("#")
            found.add(fold(fragment))
            new = renamed_fragment(fragment, anchors, texts)
            if new is not None and vault.names.resolve(file_target(file.text), source).path == path:
                yield Edit(source, part.whole, part.raw, part.escaped(f"#{new}"))
        if not found.issuperset(fragments):
            vault.leave(source)


def _leading(note: Note, path: str, vault: Vault) -> set[Place | None]:
    return {link.place for link in note.links if vault.names.resolve_link(link, note.path).path == path}


def heading_place(note: Note, heading: Heading) -> Place:
    """Return the position of a heading's text. Raises UsageError if the text spans several lines."""
    line, text = note.lines[heading.line - 1], heading.text
    if "\n" in text:
        raise UsageError(
            f"the heading {quote(text.splitlines()[0])} spans several lines; write it on one line"
        )
    start = max(0, line.rfind(text)) if text else line.index("#") + heading.level
    return Place(heading.line, start, start + len(text))


def heading_edit(note: Note, at: int, text: str) -> Edit:
    """Return the edit that changes heading number ``at`` to ``text``.

    Raises UsageError if the heading has several lines, or if the new text would not parse as this heading.
    """
    heading = note.headings[at]
    place = heading_place(note, heading)
    edit = Edit(note.path, place, heading.text, text if heading.text else f" {text}")
    read = [each.text for each in parse(_edited(note.lines, [edit]), note.path).headings]
    wanted = [text if number == at else each.text for number, each in enumerate(note.headings)]
    if read != wanted or not linkable_heading(text):
        raise UsageError(
            f"{quote(text)} cannot be the text of this heading; "
            "leave out Markdown characters at its start and end"
        )
    return edit


def _edited(lines: Sequence[str], edits: Iterable[Edit]) -> str:
    changed = list(lines)
    for edit in sorted(edits, key=lambda edit: edit.place, reverse=True):
        number, start, end = edit.place
        line = changed[number - 1]
        changed[number - 1] = line[:start] + edit.new + line[end:]
    return "\n".join(changed)


def heading_links(
    note: Note,
    path: str,
    anchors: Anchors,
    texts: Mapping[int, str],
    leading: Collection[Place | None] = (),
) -> Iterator[Edit]:
    """Yield the edits that update one note's links to changed headings of the note at ``path``.

    ``texts`` maps heading numbers to new heading texts. ``leading`` has the positions of the links that lead
    to ``path``. A link without a target leads to the note that contains it.
    """
    seen = set()  # all links through one reference definition are written at the same position
    for link in note.links:
        if link.heading is None or link.written is None or link.written in seen:
            continue
        if link.place not in leading and (link.target or note.path != path):
            continue
        fragment = renamed_fragment(link.heading, anchors, texts)
        if fragment is not None:
            seen.add(link.written)
            line, start, end = link.written
            old = note.lines[line - 1][start:end]
            markdown = not in_brackets(link.written, note.lines)
            new = with_fragment(old, fragment, markdown=markdown, quote=quote_before(link, note.lines))
            yield Edit(note.path, link.written, old, new)


def renamed_fragment(fragment: str, anchors: Anchors, texts: Mapping[int, str]) -> str | None:
    """Return a link's fragment after headings have changed; None if the fragment stays the same.

    ``texts`` maps heading numbers to new heading texts.
    """
    for parts in ([fragment], fragment.split("#")):
        if chain := anchors.nested(parts):
            named = zip(parts, chain, strict=True)
            new = "#".join(linkable_heading(texts[at]) if at in texts else part for part, at in named)
            return None if new == fragment or texts.keys().isdisjoint(chain) else new
    return None


# -- tags


def rename_tag(old: str, new: str, vault: Vault) -> list[Edit]:
    """Return the edits that rename a tag, and all tags nested under it, in every note."""
    folded = fold(old)
    sql = "SELECT DISTINCT note FROM tags WHERE tag = ? OR (tag > ? AND tag < ?)"
    ids = [note for (note,) in vault.ledger.select(sql, folded, f"{folded}/", f"{folded}0")]
    rows = vault.ledger.notes.by_id(ids)
    edits: list[Edit] = []
    for path in sorted(row.path for row in rows.values()):
        notes = list(vault.notes(path))
        if not notes or any(has_unplaced_tag(note, old) for note, _ in notes):
            vault.leave(path)
        edits += [put(edit) for note, put in notes for edit in tag_edits(note, old, new)]
    return with_links_to_headings(edits, vault)


def tag_edits(note: Note, old: str, new: str) -> Iterator[Edit]:
    """Yield the edits that rename a tag, and all tags nested under it, in one note."""
    for tag, place in tag_places(note, old):
        head = "/".join(tag.split("/")[: old.count("/") + 1])
        yield Edit(note.path, place._replace(end=place.start + len(head)), head, new)


def checked_path(path: str) -> str:
    """Check and return the new path of a note. Raises UsageError if it is not a path inside the vault."""
    parts = path.split("/")
    if path.startswith("/") or any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise UsageError(f"{quote(path)} is not a path inside the vault; use one relative to it")
    return path


def checked_name(name: str) -> str:
    """Check and return a note's name or path that a person entered. Raises UsageError if it is not valid."""
    last = name.rpartition("/")[2].removesuffix(NOTE_SUFFIX)
    if not last:
        raise UsageError("a note needs a name; type one")
    if last.startswith("."):
        raise UsageError(f"{quote(name)} would be hidden; leave out the dot")
    if any(ord(sign) < 32 for sign in name) or len(last.encode()) + len(NOTE_SUFFIX) > NAME_BYTES:
        raise UsageError(f"{quote(name[:60])} is not a valid file name; choose a shorter or simpler one")
    return name


def file_name(name: str, old: str) -> str:
    """Return the new path of the file ``old``. ``name`` is the new name or path, with or without extension.

    Raises UsageError if ``name`` has a different known extension, unless ``old`` is a note.
    """
    name, suffix = name.strip(), _suffix(old)
    folder = "" if "/" in name else old[: old.rfind("/") + 1]
    if name.casefold().endswith(suffix.casefold()):
        return folder + name
    if any(guess_type(name)) and not is_markdown(old):
        raise UsageError(f"the extension {suffix} cannot be changed; leave out {_suffix(name)}")
    return folder + name + suffix


def _suffix(path: str) -> str:
    name = PurePosixPath(path)
    return "".join(name.suffixes[-2:]) if all(guess_type(name.name)) else name.suffix


def as_moves(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a request's moves as a dict from old to new path. Raises UsageError for an invalid path."""
    return {old: checked_path(new) for old, new in pairs}
