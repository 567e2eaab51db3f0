"""Parameters of each method of the protocol. These models are the reference: requests are checked by them."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vaultseek import limits
from vaultseek.errors import UsageError
from vaultseek.model import JSON, CompletionKind, Mode
from vaultseek.settings.describe import first_problem

P = TypeVar("P", bound=BaseModel)


class Nothing(BaseModel):
    """No parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class VaultParams(Nothing):
    """A vault by name or absolute folder, else the one that the folder ``cwd`` is in."""

    vault: str | None = Field(default=None, description="Name or absolute folder of the vault.")
    cwd: str | None = Field(
        default=None, description="Absolute folder that the request comes from, instead of ``vault``."
    )


class AllVaultsParams(Nothing):
    """A query to every vault, and how to answer it."""

    query: str = Field(description="Words, phrases and operators of the query language.")
    limit: int | None = Field(
        default=None,
        ge=1,
        le=limits.RESULTS,
        description="Maximum number of results; by default the settings'.",
    )
    mode: Mode | None = Field(default=None, description="Lanes to ask; by default the settings' mode.")
    explain: bool = Field(default=False, description="Explain the rank of each result.")
    wait: bool = Field(default=False, description="Index first what is on disk now.")
    progress: bool = Field(default=False, description="With ``wait``, send ``index/progress`` meanwhile.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Settings of ``[search]`` for this request."
    )
    filters: dict[str, Any] = Field(
        default_factory=dict,
        description="Filters as fields: ``tag``, ``not_tag``, ``path``, ``property``, ``created_after``, ...",
    )
    brief: bool = Field(default=False, description="Leave the passages out of the results.")
    plain: bool = Field(
        default=False,
        description="Take the query for words, whatever operators it looks like. It may be a passage of "
        f"{limits.PASSAGE_CHARS} characters then.",
    )
    typing: bool = Field(
        default=False,
        description="The query is being typed: longer words match its last one, and notes come first whose"
        " names begin with it.",
    )


class SearchParams(AllVaultsParams, VaultParams):
    """A query and how to answer it."""


class NoteParams(VaultParams):
    """A note: by its path from the vault's root, by title, alias or file name."""

    note: str = Field(description="Path, end of a path, title, alias or file name of the note.")


class WhyParams(NoteParams):
    """A query and a note that may be in its answer."""

    query: str = Field(description="Words, phrases and operators of the query language.")
    limit: int | None = Field(
        default=None,
        ge=1,
        le=limits.RESULTS,
        description="Maximum number of results; by default the settings'.",
    )
    mode: Mode | None = Field(default=None, description="Lanes to ask; by default the settings' mode.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Settings of ``[search]`` for this request."
    )
    filters: dict[str, Any] = Field(default_factory=dict, description="Filters as fields, as for ``search``.")


class GetParams(NoteParams):
    """A note and the range of its lines."""

    start_line: int = Field(default=1, ge=1, description="First line of the text, 1-based.")
    end_line: int | None = Field(
        default=None, ge=1, description="Last line of the text, inclusive; by default the note's last."
    )


class RelatedParams(NoteParams):
    """A note, and how many similar ones to return."""

    limit: int = Field(default=10, ge=1, le=limits.RESULTS, description="Maximum number of notes.")


class ListParams(VaultParams):
    """A list, cut after ``limit`` items."""

    limit: int = Field(
        default=limits.LISTED_ITEMS_MOST,
        ge=1,
        le=limits.LISTED_ITEMS_MOST,
        description="Maximum number of items; ``total`` counts all.",
    )


class LinksParams(ListParams):
    """The links of a note."""

    note: str = Field(description="Path, end of a path, title, alias or file name of the note.")


class UnresolvedParams(ListParams):
    """Links that lead nowhere: of a note, or of the whole vault."""

    note: str | None = Field(default=None, description="Note whose links are listed; by default every note.")


class NeighborsParams(NoteParams):
    """A note, and how far to follow links from it."""

    depth: int = Field(default=1, ge=1, le=limits.NEIGHBOUR_DEPTH, description="Maximum distance in links.")
    limit: int = Field(
        default=limits.RESULTS, ge=1, le=limits.LISTED_ITEMS_MOST, description="Maximum number of notes."
    )


class PropertiesParams(ListParams):
    """All properties, or all values of one."""

    name: str | None = Field(default=None, description="Property whose values are listed.")


class OrphansParams(ListParams):
    """Notes that nothing links to."""

    isolated: bool = Field(default=False, description="Only those that link to no other note either.")


class DuplicatesParams(VaultParams):
    """Notes that are nearly the same."""

    limit: int = Field(default=20, ge=1, le=limits.RESULTS, description="Maximum number of pairs.")


class TableParams(VaultParams):
    """A base or a note with bases, or a query and the columns of its table."""

    file: str | None = Field(
        default=None,
        description="Path or name of a `.base` file, or of a note that contains or embeds bases.",
    )
    view: str | None = Field(default=None, description="Of a file: name of the view; by default the first.")
    this: str | None = Field(
        default=None, description="Of a file: note that formulas call ``this``; by default the file itself."
    )
    query: str | None = Field(default=None, description="A query of the query language.")
    columns: list[str] = Field(
        default_factory=list,
        max_length=limits.TABLE_COLUMNS,
        description="Of a query: properties, facts such as ``title`` and ``modified``, or expressions.",
    )
    sort: list[str] = Field(
        default_factory=list,
        max_length=limits.TABLE_COLUMNS,
        description="Of a query: columns to sort by; ``-rating`` is descending.",
    )
    group: str | None = Field(default=None, description="Of a query: column to group by.")
    summaries: dict[str, str] = Field(
        default_factory=dict, description="Of a query: name of the summary of a column, such as ``Average``."
    )
    limit: int = Field(
        default=limits.LISTED_ITEMS_MOST,
        ge=1,
        le=limits.LISTED_ITEMS_MOST,
        description="Maximum number of rows of a table.",
    )


class CompleteParams(VaultParams):
    """Typed text, and the kind of name that it begins."""

    kind: CompletionKind = Field(default="note", description="Kind of name to complete.")
    text: str = Field(default="", max_length=limits.QUERY_CHARS, description="Text typed so far.")
    note: str | None = Field(
        default=None, description="Note whose headings or blocks are completed, for those two kinds."
    )
    property: str | None = Field(
        default=None, description="Property whose values are completed, for ``value``."
    )
    limit: int = Field(default=20, ge=1, le=limits.COMPLETIONS, description="Maximum number of items.")


class AddVaultParams(Nothing):
    """A folder of notes to follow from now on."""

    path: str = Field(description="Absolute path of the folder.")
    name: str | None = Field(default=None, description="Name of the vault; by default the folder's name.")
    language: str | None = Field(default=None, description="Language of the notes, for stemming.")
    exclude: list[str] = Field(default_factory=list, description="Globs of notes to leave out.")


class RemoveVaultParams(Nothing):
    """A vault to follow no longer."""

    vault: str = Field(description="Name or absolute folder of the vault.")
    delete_index: bool = Field(default=False, description="Delete its index, too.")


class NamedVaultParams(Nothing):
    """A vault by name or absolute folder."""

    vault: str = Field(description="Name or absolute folder of the vault.")


class RefreshParams(VaultParams):
    """A vault to compare with the disk."""

    remember: bool = Field(default=False, description="Add the vault, as ``vault/add`` does.")


class WaitParams(RefreshParams):
    """A vault to wait for."""

    progress: bool = Field(default=False, description="Send ``index/progress`` meanwhile.")


class SubscribeParams(Nothing):
    """A vault, or all of them."""

    vault: str | None = Field(
        default=None, description="Name or absolute folder of the vault; by default all vaults."
    )


class Hello(BaseModel):
    """The client and the protocol it speaks; a client may add fields."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    protocol_version: int = Field(description="The newest version that the client speaks.")
    client: str | None = Field(default=None, description="A name for the log.")
    capabilities: dict[str, Any] = Field(default_factory=dict, description="Of the client; none matter yet.")
    token: str | None = Field(default=None, description="On the port only: the token of the address file.")


class Cancel(BaseModel):
    """A request to cancel."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    id: int | str


def read(kind: type[P], params: JSON) -> P:
    """Return the parameters as ``kind``. Raises UsageError that names the first that is wrong."""
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        where, wrong = first_problem(error, kind)
        raise UsageError(f"parameter {'.'.join(map(str, where))}: {wrong}") from None
