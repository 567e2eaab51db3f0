"""The methods of the protocol as typed methods of the blocking client.

Written by ``python -m vaultseek.messages``; change the models there instead.
"""

from __future__ import annotations

from vaultseek.client.conversation import DEFAULT_TIMEOUT, without_defaults

TYPE_CHECKING = False  # typing is heavy for a command that only asks
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultseek.client.answers import (
        AddedVault,
        Backlinks,
        Compacted,
        Completions,
        Done,
        Duplicates,
        IndexedVault,
        KeptNotes,
        KeptVectors,
        Mentioned,
        Neighbors,
        Note,
        NotesToParse,
        Orphans,
        Outgoing,
        PausedVault,
        Problems,
        Properties,
        Refreshed,
        Related,
        RemovedVault,
        Rename,
        Resolved,
        Schemas,
        Search,
        SearchAll,
        Status,
        Subscribed,
        Tables,
        Tags,
        TextsToEmbed,
        Unlinked,
        Unresolved,
        Vaults,
        Verified,
        Why,
    )
    from vaultseek.model import CompletionKind, Mode


class Methods:
    """The methods of the protocol, for a client that can ``call``.

    ``vault`` is the name or absolute folder of a vault, ``cwd`` the absolute folder that the request comes
    from; without either, the only configured vault is meant. What is not ready after ``deadline_ms``
    milliseconds is left out, and ``partial`` names it. ``supersedes`` is the id of an earlier request of this
    client to cancel. ``timeout`` in seconds replaces the client's own; None waits as long as it takes.

    Every method raises the error of ``vaultseek.errors`` that the daemon answers with: UsageError for wrong
    parameters, VaultMissing for a vault that is not there, Cancelled if there is no answer in time,
    Unavailable if the daemon went away. Lines are 1-based and inclusive everywhere.
    """

    call: Callable[..., Any]

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: Mode | None = None,
        explain: bool = False,
        wait: bool = False,
        progress: bool = False,
        settings: dict[str, Any] | None = None,
        filters: dict[str, Any] | None = None,
        brief: bool = False,
        plain: bool = False,
        typing: bool = False,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Search:
        """Search a vault and return notes, best first, each with its best passage.

        Lines are 1-based and inclusive. ``highlights`` are ranges ``[start, end)`` of characters of
        ``preview``. ``partial`` names the lanes that were left out, with a code of the cause.

        Args:
            query: Words, phrases and operators of the query language.
            limit: Maximum number of results; by default the settings'.
            mode: Lanes to ask; by default the settings' mode.
            explain: Explain the rank of each result.
            wait: Index first what is on disk now.
            progress: With ``wait``, send ``index/progress`` meanwhile.
            settings: Settings of ``[search]`` for this request.
            filters: Filters as fields: ``tag``, ``not_tag``, ``path``, ``property``, ``created_after``, ...
            brief: Leave the passages out of the results.
            plain: Take the query for words, whatever operators it looks like. It may be a passage of 10000
                characters then.
            typing: The query is being typed: longer words match its last one, and notes come first whose
                names begin with it.

        Raises BadQuery for a query that cannot be searched for, Unavailable if no lane can answer.
        """
        answer: Search = self.call(
            "search",
            without_defaults(
                query=query,
                limit=limit,
                mode=mode,
                explain=explain,
                wait=wait,
                progress=progress,
                settings=settings,
                filters=filters,
                brief=brief,
                plain=plain,
                typing=typing,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def search_all(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: Mode | None = None,
        explain: bool = False,
        wait: bool = False,
        progress: bool = False,
        settings: dict[str, Any] | None = None,
        filters: dict[str, Any] | None = None,
        brief: bool = False,
        plain: bool = False,
        typing: bool = False,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> SearchAll:
        """Search every vault and return notes, best first, each with its vault.

        Scores of a vault count as much as its best note is certain. ``vaults`` has the state of each.

        Args:
            query: Words, phrases and operators of the query language.
            limit: Maximum number of results; by default the settings'.
            mode: Lanes to ask; by default the settings' mode.
            explain: Explain the rank of each result.
            wait: Index first what is on disk now.
            progress: With ``wait``, send ``index/progress`` meanwhile.
            settings: Settings of ``[search]`` for this request.
            filters: Filters as fields: ``tag``, ``not_tag``, ``path``, ``property``, ``created_after``, ...
            brief: Leave the passages out of the results.
            plain: Take the query for words, whatever operators it looks like. It may be a passage of 10000
                characters then.
            typing: The query is being typed: longer words match its last one, and notes come first whose
                names begin with it.

        Raises BadQuery, Unavailable if no lane can answer, UsageError if there is no vault.
        """
        answer: SearchAll = self.call(
            "search/all",
            without_defaults(
                query=query,
                limit=limit,
                mode=mode,
                explain=explain,
                wait=wait,
                progress=progress,
                settings=settings,
                filters=filters,
                brief=brief,
                plain=plain,
                typing=typing,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def why(
        self,
        query: str,
        path: str,
        *,
        limit: int | None = None,
        mode: Mode | None = None,
        settings: dict[str, Any] | None = None,
        filters: dict[str, Any] | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Why:
        """Explain the rank of a note in the answer to a query, or the stage at which it was lost.

        Args:
            query: Words, phrases and operators of the query language.
            path: Path, end of a path, title, alias or file name of the note.
            limit: Maximum number of results; by default the settings'.
            mode: Lanes to ask; by default the settings' mode.
            settings: Settings of ``[search]`` for this request.
            filters: Filters as fields, as for ``search``.

        Raises BadQuery, Unavailable, BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Why = self.call(
            "search/why",
            without_defaults(
                query=query,
                note=path,
                limit=limit,
                mode=mode,
                settings=settings,
                filters=filters,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def note(
        self,
        path: str,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Note:
        """Return the text and metadata of a note, as it is on disk.

        Lines are 1-based and inclusive. ``truncated`` is true if the text was cut before ``end_line``.

        Args:
            path: Path, end of a path, title, alias or file name of the note.
            start_line: First line of the text, 1-based; by default 1.
            end_line: Last line of the text, inclusive; by default the note's last.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Note = self.call(
            "note/get",
            without_defaults(
                note=path,
                start_line=start_line,
                end_line=end_line,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def related(
        self,
        path: str,
        *,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Related:
        """Return the notes most similar to a note, best first: by meaning, links and words.

        Args:
            path: Path, end of a path, title, alias or file name of the note.
            limit: Maximum number of notes; by default 10.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Related = self.call(
            "note/related",
            without_defaults(
                note=path,
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def outgoing(
        self,
        path: str,
        *,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Outgoing:
        """Return the links of a note, in their order.

        Args:
            path: Path, end of a path, title, alias or file name of the note.
            limit: Maximum number of items; ``total`` counts all; by default 10_000.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Outgoing = self.call(
            "links/outgoing",
            without_defaults(
                note=path,
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def backlinks(
        self,
        path: str,
        *,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Backlinks:
        """Return the links of other notes to a note, each with its 1-based line and that line's text.

        Args:
            path: Path, end of a path, title, alias or file name of the note.
            limit: Maximum number of items; ``total`` counts all; by default 10_000.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Backlinks = self.call(
            "links/backlinks",
            without_defaults(
                note=path,
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def unresolved(
        self,
        *,
        limit: int | None = None,
        note: str | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Unresolved:
        """Return the links of the vault, or of one note, that lead nowhere.

        Args:
            limit: Maximum number of items; ``total`` counts all; by default 10_000.
            note: Note whose links are listed; by default every note.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Unresolved = self.call(
            "links/unresolved",
            without_defaults(
                limit=limit,
                note=note,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def unlinked(
        self,
        path: str,
        *,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Unlinked:
        """Return the lines that mention a note by title, alias or file name without a link to it.

        Args:
            path: Path, end of a path, title, alias or file name of the note.
            limit: Maximum number of items; ``total`` counts all; by default 10_000.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Unlinked = self.call(
            "links/unlinked",
            without_defaults(
                note=path,
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def neighbors(
        self,
        path: str,
        *,
        depth: int | None = None,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Neighbors:
        """Return the notes around a note, nearest first, and the links between them.

        Args:
            path: Path, end of a path, title, alias or file name of the note.
            depth: Maximum distance in links; by default 1.
            limit: Maximum number of notes; by default 200.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Neighbors = self.call(
            "graph/neighbors",
            without_defaults(
                note=path,
                depth=depth,
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def tags(
        self,
        *,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Tags:
        """Return every tag of the vault.

        Args:
            limit: Maximum number of items; ``total`` counts all; by default 10_000.
        """
        answer: Tags = self.call(
            "vault/tags",
            without_defaults(
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def properties(
        self,
        *,
        limit: int | None = None,
        name: str | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Properties:
        """Return every property of the vault, or with ``name`` every value of one.

        Args:
            limit: Maximum number of items; ``total`` counts all; by default 10_000.
            name: Property whose values are listed.
        """
        answer: Properties = self.call(
            "vault/properties",
            without_defaults(
                limit=limit,
                name=name,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def orphans(
        self,
        *,
        limit: int | None = None,
        isolated: bool = False,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Orphans:
        """Return the notes that no other note links to.

        Args:
            limit: Maximum number of items; ``total`` counts all; by default 10_000.
            isolated: Only those that link to no other note either.
        """
        answer: Orphans = self.call(
            "vault/orphans",
            without_defaults(
                limit=limit,
                isolated=isolated,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def duplicates(
        self,
        *,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Duplicates:
        """Return the pairs of notes that are most alike, by the text that they share and by meaning.

        There is no threshold: the list goes on with notes that are no duplicates.

        Args:
            limit: Maximum number of pairs; by default 20.
        """
        answer: Duplicates = self.call(
            "vault/duplicates",
            without_defaults(
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def table(
        self,
        *,
        file: str | None = None,
        view: str | None = None,
        this: str | None = None,
        query: str | None = None,
        columns: list[str] | None = None,
        sort: list[str] | None = None,
        group: str | None = None,
        summaries: dict[str, str] | None = None,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Tables:
        """Return the tables of a base, of a note with bases, or of the notes that a query finds.

        ``problems`` of a table name what is wrong in a base or not supported.

        Args:
            file: Path or name of a `.base` file, or of a note that contains or embeds bases.
            view: Of a file: name of the view; by default the first.
            this: Of a file: note that formulas call ``this``; by default the file itself.
            query: A query of the query language.
            columns: Of a query: properties, facts such as ``title`` and ``modified``, or expressions.
            sort: Of a query: columns to sort by; ``-rating`` is descending.
            group: Of a query: column to group by.
            summaries: Of a query: name of the summary of a column, such as ``Average``.
            limit: Maximum number of rows of a table; by default that of a list, or of a search by words.

        Raises BadQuery, UsageError for a base that cannot be evaluated, BadPath, NotFound, or UsageError if
        several notes have the name.
        """
        answer: Tables = self.call(
            "vault/table",
            without_defaults(
                file=file,
                view=view,
                this=this,
                query=query,
                columns=columns,
                sort=sort,
                group=group,
                summaries=summaries,
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def complete(
        self,
        kind: CompletionKind,
        prefix: str = "",
        *,
        note: str | None = None,
        source: str | None = None,
        property: str | None = None,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Completions:
        """Complete the name of a note, heading, block, tag, property or value; the likeliest first.

        Args:
            kind: Kind of name to complete.
            prefix: Text typed so far.
            note: Note whose headings or blocks are completed, for those two kinds; by default all.
            source: Path of the note that a link is typed in: items have the ``link`` to be written there.
            property: Property whose values are completed, for ``value``.
            limit: Maximum number of items; by default 20.

        Raises UsageError if ``note`` or ``property`` is missing for a kind that needs it.
        """
        answer: Completions = self.call(
            "complete",
            without_defaults(
                kind=kind,
                text=prefix,
                note=note,
                source=source,
                property=property,
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def resolve_links(
        self,
        source: str,
        links: list[dict[str, Any]],
        *,
        moves: list[dict[str, Any]] | None = None,
        similar: bool = False,
        wait: bool = False,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Resolved:
        """Return where links of a note lead, which need not be saved, and what is wrong with them.

        Args:
            source: Path of the note from the vault's root.
            links: Links to look up.
            moves: Files that are about to move: links that have to change have their ``moved`` target.
            similar: Name notes that are called much like a missing one.
            wait: Index first the notes that are on disk now.

        Raises BadPath.
        """
        answer: Resolved = self.call(
            "links/resolve",
            without_defaults(
                source=source,
                links=links,
                moves=moves,
                similar=similar,
                wait=wait,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def mentioned(
        self,
        source: str,
        lines: list[str],
        *,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Mentioned:
        """Return the notes that a text names outside of links and code, each with its place.

        Args:
            source: Path of the note from the vault's root.
            lines: Lines of its text.

        Raises BadPath.
        """
        answer: Mentioned = self.call(
            "links/mentioned",
            without_defaults(
                source=source,
                lines=lines,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def problems(
        self,
        *,
        limit: int | None = None,
        note: str | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Problems:
        """Return the faults of a note or of all: links that lead nowhere or to several files, frontmatter.

        Args:
            limit: Maximum number of items; ``total`` counts all; by default 10_000.
            note: Note whose problems are listed; by default every note.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Problems = self.call(
            "vault/problems",
            without_defaults(
                limit=limit,
                note=note,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def propose_rename(
        self,
        *,
        moves: list[dict[str, Any]] | None = None,
        note: str | None = None,
        heading: str | None = None,
        tag: str | None = None,
        to: str | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Rename:
        """Return the edits that renaming files, a heading or a tag needs. Nothing is written.

        Args:
            moves: Files and folders that are about to move.
            note: Note with the heading.
            heading: The heading as it is now.
            tag: The tag as it is now, without ``#``.
            to: The new text of the heading, or the new tag.

        Raises UsageError, BadPath, NotFound, or UsageError if several notes have the name.
        """
        answer: Rename = self.call(
            "vault/rename",
            without_defaults(
                moves=moves,
                note=note,
                heading=heading,
                tag=tag,
                to=to,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def vaults(
        self,
        *,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Vaults:
        """Return every vault the daemon knows."""
        answer: Vaults = self.call(
            "vault/list",
            without_defaults(
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def add_vault(
        self,
        path: str,
        *,
        name: str | None = None,
        language: str | None = None,
        exclude: list[str] | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> AddedVault:
        """Follow one more folder of notes, also after the daemon was restarted.

        Args:
            path: Absolute path of the folder.
            name: Name of the vault; by default the folder's name.
            language: Language of the notes, for stemming.
            exclude: Globs of notes to leave out.

        Raises VaultMissing, or UsageError if the folder or the name is a vault already.
        """
        answer: AddedVault = self.call(
            "vault/add",
            without_defaults(
                path=path,
                name=name,
                language=language,
                exclude=exclude,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def remove_vault(
        self,
        vault: str,
        *,
        delete_index: bool = False,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> RemovedVault:
        """Stop following a vault that was added; its notes are not touched.

        Args:
            vault: Name or absolute folder of the vault.
            delete_index: Delete its index, too.

        Raises VaultMissing, or UsageError for a vault of the configuration file.
        """
        answer: RemovedVault = self.call(
            "vault/remove",
            without_defaults(
                vault=vault,
                delete_index=delete_index,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def pause_vault(
        self,
        vault: str,
        *,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> PausedVault:
        """Pause a vault: searches are answered from its index, changes are not followed.

        Args:
            vault: Name or absolute folder of the vault.

        Raises VaultMissing.
        """
        answer: PausedVault = self.call(
            "vault/pause",
            without_defaults(
                vault=vault,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def resume_vault(
        self,
        vault: str,
        *,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> PausedVault:
        """Resume a paused vault.

        Args:
            vault: Name or absolute folder of the vault.

        Raises VaultMissing.
        """
        answer: PausedVault = self.call(
            "vault/resume",
            without_defaults(
                vault=vault,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def status(
        self,
        *,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Status:
        """Return the state of the daemon, its worker and its vaults, or of one vault."""
        answer: Status = self.call(
            "index/status",
            without_defaults(
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def refresh(
        self,
        *,
        remember: bool = False,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Refreshed:
        """Compare a vault with the disk, and return when that is done.

        If most notes are gone, this confirms that they were deleted on purpose.

        Args:
            remember: Add the vault, as ``vault/add`` does.

        Raises VaultMissing, or Unavailable if the vault is paused or cannot be indexed.
        """
        answer: Refreshed = self.call(
            "index/refresh",
            without_defaults(
                remember=remember,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def compact(
        self,
        *,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Compacted:
        """Remove what is left of deleted text from every file of the index, and return when that is done.

        The daemon does this by itself once a day.

        Raises VaultMissing, Busy if another program reads the index, or Unavailable.
        """
        answer: Compacted = self.call(
            "index/compact",
            without_defaults(
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def wait(
        self,
        *,
        remember: bool = False,
        progress: bool = False,
        vectors_from_client: bool = False,
        notes_from_client: bool = False,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> IndexedVault:
        """Return when all that is on disk now is indexed and embedded.

        Args:
            remember: Add the vault, as ``vault/add`` does.
            progress: Send ``index/progress`` meanwhile.
            vectors_from_client: Embed no texts meanwhile: the client takes them with ``index/texts``, and
                brings their vectors with ``index/vectors``.
            notes_from_client: Where many notes are to be read, the client takes them with ``index/files``,
                and brings them parsed with ``index/notes``.

        Raises VaultMissing, Unavailable, or WorkerUnavailable if it cannot be embedded.
        """
        answer: IndexedVault = self.call(
            "index/wait",
            without_defaults(
                remember=remember,
                progress=progress,
                vectors_from_client=vectors_from_client,
                notes_from_client=notes_from_client,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def notes_to_parse(
        self,
        *,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> NotesToParse:
        """Return new and changed notes, for a client that parses them.

        It has to wait meanwhile with ``index/wait`` and ``notes_from_client``, on another connection.

        Args:
            limit: Maximum number of notes; by default 64.

        Raises VaultMissing, or Unavailable if no client waits so.
        """
        answer: NotesToParse = self.call(
            "index/files",
            without_defaults(
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def keep_notes(
        self,
        notes: dict[str, str],
        *,
        refused: list[str] | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> KeptNotes:
        """Index notes that ``index/files`` has returned, and that the client has parsed.

        Notes that have changed since, or that do not pass the checks, are parsed by the daemon instead.

        Args:
            notes: Parsed notes by key.
            refused: Keys of notes that the client cannot parse; the daemon does.

        Raises VaultMissing, or Unavailable if no client waits so.
        """
        answer: KeptNotes = self.call(
            "index/notes",
            without_defaults(
                notes=notes,
                refused=refused,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def verify(
        self,
        *,
        repair: bool = False,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Verified:
        """Compare the numbers of notes, passages and vectors that the engine has with those of the ledger.

        With ``repair`` an engine that has others is filled again; nothing is embedded for that.

        Args:
            repair: If the numbers differ, have the engine filled from the ledger again.

        Raises VaultMissing, or Unavailable if the engine does not answer.
        """
        answer: Verified = self.call(
            "index/verify",
            without_defaults(
                repair=repair,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def texts_to_embed(
        self,
        *,
        limit: int | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> TextsToEmbed:
        """Return texts whose vectors are missing, for a client that embeds them.

        It has to wait meanwhile with ``index/wait`` and ``vectors_from_client``, on another connection.

        Args:
            limit: Maximum number of texts; by default 64.

        Raises VaultMissing, Unavailable if no client waits so, or if the vectors come from a server.
        """
        answer: TextsToEmbed = self.call(
            "index/texts",
            without_defaults(
                limit=limit,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def keep_vectors(
        self,
        fingerprint: str,
        vectors: dict[str, str],
        *,
        refused: list[str] | None = None,
        vault: str | None = None,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> KeptVectors:
        """Keep the vectors of texts that ``index/texts`` has returned.

        Vectors that are not of the model's length, or not of length 1, are computed by the daemon instead.

        Args:
            fingerprint: The model, as ``index/texts`` names it.
            vectors: By key of the text: a unit vector as little-endian float32, in base64.
            refused: Keys of texts that the client cannot embed; the daemon does.

        Raises VaultMissing, UsageError for vectors of another model, or Unavailable if no client waits so.
        """
        answer: KeptVectors = self.call(
            "index/vectors",
            without_defaults(
                fingerprint=fingerprint,
                vectors=vectors,
                refused=refused,
                vault=vault,
                cwd=cwd,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def subscribe(
        self,
        *,
        vault: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Subscribed:
        """Subscribe to ``index/progress`` and ``index/changed`` of one vault or of all."""
        answer: Subscribed = self.call(
            "index/subscribe",
            without_defaults(
                vault=vault,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def unsubscribe(
        self,
        *,
        vault: str | None = None,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Done:
        """End a subscription, or all of them."""
        answer: Done = self.call(
            "index/unsubscribe",
            without_defaults(
                vault=vault,
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def shutdown(
        self,
        *,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Done:
        """Stop the daemon after its answer."""
        answer: Done = self.call(
            "shutdown",
            without_defaults(
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer

    def schema(
        self,
        *,
        deadline_ms: float | None = None,
        supersedes: int | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> Schemas:
        """Return the JSON Schema of every method and notification."""
        answer: Schemas = self.call(
            "$/schema",
            without_defaults(
                deadline_ms=deadline_ms,
                supersedes=supersedes,
            ),
            timeout=timeout,
        )
        return answer
