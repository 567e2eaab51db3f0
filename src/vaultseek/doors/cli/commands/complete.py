"""``vaultseek complete``, for editors without their own vaultseek client, and ``completion``, for shells."""

from typing import Any

import click

from vaultseek.doors.cli.arguments import COMPLETE
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, shared_options, table_options
from vaultseek.doors.cli.search_call import CompleteCall


@click.command()
@click.argument("text", default="")
@table_options(COMPLETE)
@daemon_options
def complete(invocation: Invocation, /, text: str, **options: Any) -> int:
    """Complete a note, heading, block, tag, property or value. Prints one completion per line.

    \b
    vaultseek complete flo
    vaultseek complete --kind value --property status
    vaultseek complete tag:work/
    """
    return CompleteCall(text, options).run(invocation)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@shared_options
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script for completion in your shell.

    It completes commands, options, notes, tags, properties and vaults. Notes, tags and properties are
    completed only while the daemon runs. Completion never starts the daemon.

    \b
    bash:  echo 'eval "$(vaultseek completion bash)"' >> ~/.bashrc
    zsh:   vaultseek completion zsh > ~/.zfunc/_vaultseek
    fish:  vaultseek completion fish > ~/.config/fish/completions/vaultseek.fish
    """
    from vaultseek.doors.cli.shell_completion import script

    print(script(shell, context.find_root().command))
