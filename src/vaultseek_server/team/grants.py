"""Rights of a token: the vaults that its clients can see, and the folders that they can see in each vault."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property

from vaultseek.base.model import JSON
from vaultseek.errors import Forbidden
from vaultseek.protocol.wire.auth import Admission
from vaultseek.protocol.wire.loopback import PROOF, TOKEN
from vaultseek.settings.model import Settings
from vaultseek_server.settings import TokenSettings, team_of

EVERY_VAULT = "*"


@dataclass(frozen=True)
class Grant:
    """The rights that a token's settings give to its clients."""

    token: TokenSettings

    @property
    def name(self) -> str:
        """The name of the token."""
        return self.token.name

    def sees(self, vault: str) -> bool:
        """Return true if any part of the vault is visible."""
        return EVERY_VAULT in self._folders or vault.casefold() in self._folders

    def folders(self, vault: str) -> tuple[str, ...] | None:
        """Return the visible folders of a vault, none of which is inside another; None if the whole vault is
        visible."""
        if EVERY_VAULT in self._folders:
            return None
        folders = self._folders.get(vault.casefold(), frozenset())
        if "" in folders:
            return None
        return tuple(sorted(each for each in folders if not any(each.startswith(f"{up}/") for up in folders)))

    @cached_property
    def _folders(self) -> dict[str, frozenset[str]]:
        folders: dict[str, frozenset[str]] = {}
        for each in self.token.sees:
            vault, _, folder = each.rstrip("/").partition("/")
            folders[vault.casefold()] = folders.get(vault.casefold(), frozenset()) | {folder}
        return folders


class TeamVerifier:
    """Verifier that admits clients with a token from the settings. ``refresh`` applies settings that changed
    on disk."""

    where = "ask the server's administrator for one"

    def __init__(self, settings: Callable[[], Settings], refresh: Callable[[], Awaitable[None]]) -> None:
        self._settings = settings
        self._refresh = refresh

    async def admit(self, params: JSON) -> Admission | None:
        """Admit a client with a valid token; see `TokenVerifier.admit`. The answer contains a proof, by which
        a client that has the address file recognizes the server."""
        text = params.get(TOKEN)
        if not isinstance(text, str):
            return None
        await self._refresh()
        digest = token_digest(text)
        # Compares the digest with those of all tokens, in constant time.
        same = [each for each in team_of(self._settings()).tokens if hmac.compare_digest(each.sha256, digest)]
        if not same:
            return None
        return Admission({PROOF: token_proof(text), "token": same[0].name}, Grant(same[0]), same[0].sha256)

    async def current(self, grant: Grant) -> Grant:
        """Return the current rights of a token. Raises Forbidden if the token was withdrawn."""
        await self._refresh()
        for token in team_of(self._settings()).tokens:
            if token.sha256 == grant.token.sha256:
                return grant if token == grant.token else Grant(token)
        raise Forbidden(f"this token is no longer valid; {self.where}")


def token_digest(token: str) -> str:
    """Return the digest that the settings contain instead of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def token_proof(token: str) -> str:
    """Return the proof by which a server shows that it knows a token."""
    return hashlib.sha256(f"proof of {token}".encode("utf-8", "replace")).hexdigest()
