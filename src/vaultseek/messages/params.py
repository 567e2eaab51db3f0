"""What each method of the protocol takes. These models are the reference: requests are checked by them."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vaultseek import limits
from vaultseek.errors import UsageError
from vaultseek.model import JSON
from vaultseek.settings.describe import first_problem

P = TypeVar("P", bound=BaseModel)


class Nothing(BaseModel):
    """No parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class VaultParams(Nothing):
    """Which vault: a name or an absolute folder, else the one that the folder ``cwd`` is in."""

    vault: str | None = Field(default=None, description="Name or absolute folder of the vault.")
    cwd: str | None = Field(default=None, description="Where the request comes from, as an absolute folder.")


class SearchParams(VaultParams):
    """A query and how to answer it."""

    query: str = Field(description="Words, phrases and operators of the query language.")
    limit: int | None = Field(default=None, ge=1, le=limits.RESULTS, description="At most so many results.")
    mode: Literal["hybrid", "keyword", "semantic"] | None = Field(
        default=None, description="Which lanes to ask."
    )
    explain: bool = Field(default=False, description="Say why each result is where it is.")
    wait: bool = Field(default=False, description="Take in first what is on disk now.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Settings of [search] for this request."
    )
    filters: dict[str, Any] = Field(
        default_factory=dict, description="Filters as fields: tag, not_tag, path, property, created_after, …"
    )
    brief: bool = Field(default=False, description="Name the notes and choose no passages.")


class NoteParams(VaultParams):
    """A note: by its path from the vault's root, by title, alias or file name."""

    note: str = Field(description="Path, end of a path, title, alias or file name.")


class WhyParams(NoteParams):
    """A query and a note that was or was not found by it."""

    query: str
    limit: int | None = Field(default=None, ge=1, le=limits.RESULTS)
    mode: Literal["hybrid", "keyword", "semantic"] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    filters: dict[str, Any] = Field(default_factory=dict)


class GetParams(NoteParams):
    """A note and which of its lines."""

    start_line: int = Field(default=1, ge=1, description="First line of the text, from 1.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, included; by default the last.")


class RelatedParams(NoteParams):
    """A note, and how many others like it."""

    limit: int = Field(default=10, ge=1, le=limits.RESULTS)


class ListParams(VaultParams):
    """A list, cut after ``limit``."""

    limit: int = Field(default=limits.LISTED_ITEMS_MOST, ge=1, le=limits.LISTED_ITEMS_MOST)


class LinksParams(ListParams):
    """The links of a note."""

    note: str = Field(description="Path, end of a path, title, alias or file name.")


class UnresolvedParams(ListParams):
    """Links that lead nowhere: of a note, or of the whole vault."""

    note: str | None = None


class NeighborsParams(NoteParams):
    """How far to go from a note along links."""

    depth: int = Field(default=1, ge=1, le=limits.NEIGHBOUR_DEPTH)
    limit: int = Field(default=limits.RESULTS, ge=1, le=limits.LISTED_ITEMS_MOST)


class PropertiesParams(ListParams):
    """All properties, or all values of one."""

    name: str | None = Field(default=None, description="The property whose values are wanted.")


class OrphansParams(ListParams):
    """Notes that nothing links to."""

    isolated: bool = Field(default=False, description="Only those that link to nothing either.")


class CompleteParams(VaultParams):
    """What was typed so far, and what it is to become."""

    kind: Literal["note", "heading", "block", "tag", "property", "value"] = "note"
    text: str = Field(default="", max_length=limits.QUERY_CHARS)
    note: str | None = Field(default=None, description='For "heading" and "block": the note that is meant.')
    property: str | None = Field(
        default=None, description='For "value": the property whose values are meant.'
    )
    limit: int = Field(default=20, ge=1, le=limits.COMPLETIONS)


class AddVaultParams(Nothing):
    """A folder of notes to be kept from now on."""

    path: str = Field(description="The folder, absolute.")
    name: str | None = Field(default=None, description="What to call it; by default the folder's name.")
    language: str | None = Field(default=None, description="Language of the notes, for word stems.")
    exclude: list[str] = Field(default_factory=list, description="Globs of notes that are left out.")


class RemoveVaultParams(Nothing):
    """A vault that is to be kept no longer."""

    vault: str = Field(description="Name or absolute folder of the vault.")
    delete_index: bool = Field(default=False, description="Delete its index, too.")


class NamedVaultParams(Nothing):
    """A vault by name or absolute folder."""

    vault: str


class WaitParams(VaultParams):
    """``progress``: tell how far it is meanwhile, as ``index/progress``."""

    progress: bool = False


class SubscribeParams(Nothing):
    """``vault`` None: all of them."""

    vault: str | None = None


class Hello(BaseModel):
    """Who the client is and what it speaks; a client may say more."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    protocol_version: int = Field(description="The newest version that the client speaks.")
    client: str | None = Field(default=None, description="A name for the log.")
    capabilities: dict[str, Any] = Field(default_factory=dict, description="Of the client; none matter yet.")
    token: str | None = Field(default=None, description="On the port only: the token of the address file.")


class Cancel(BaseModel):
    """A request to be taken back."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    id: int | str


def read(kind: type[P], params: JSON) -> P:
    """The parameters as ``kind``. Raises UsageError that names the first that is wrong."""
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        where, wrong = first_problem(error, kind)
        raise UsageError(f"parameter {'.'.join(map(str, where))}: {wrong}") from None
