"""``vaultseek team``: tokens for a team's server."""

import click

from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import json_option, local_options
from vaultseek.doors.cli.output import print_result


@click.group()
def team() -> None:
    """Create tokens for a server that several people use.

    The settings are [team] and [[team.tokens]]; docs/team.md explains how to set up such a server.
    """


@team.command()
@click.argument("name", metavar="NAME")
@click.argument("sees", nargs=-1, required=True, metavar="VAULT[/FOLDER]...")
@json_option()
@local_options
def token(invocation: Invocation, name: str, sees: tuple[str, ...]) -> int:
    """Create a token for specific vaults or folders.

    The token is printed once and never stored. Put its SHA-256 into the server's configuration, and give the
    token to its user.

    \b
    vaultseek team token anna wiki/Handbook projects
    """
    import json
    import secrets

    from pydantic import ValidationError

    from vaultseek.errors import UsageError
    from vaultseek.protocol.wire.loopback import PROOF, TOKEN, TOKEN_LENGTH
    from vaultseek.settings.describe import first_problem
    from vaultseek.settings.toml import format_value
    from vaultseek_server.settings import TokenSettings
    from vaultseek_server.team.grants import token_digest, token_proof

    text = secrets.token_urlsafe(TOKEN_LENGTH)
    try:
        made = TokenSettings.model_validate({"name": name, "sha256": token_digest(text), "sees": sees})
    except ValidationError as error:
        (key, *_), problem = first_problem(error, TokenSettings)
        raise UsageError(f"{key}: {problem}") from None
    of_client = {"port": 7447, TOKEN: text, PROOF: token_proof(text)}
    return print_result(
        {"token": text, "settings": made.model_dump(mode="json"), "address_file": of_client},
        invocation,
        "For the server's config.toml:\n",
        "[[team.tokens]]",
        *(f"{key} = {format_value(getattr(made, key))}" for key in ("name", "sha256", "sees")),
        "\nFor the token's user: save as daemon.tcp (mode 0600) beside the socket, with the tunnel's port:\n",
        json.dumps(of_client),
    )
