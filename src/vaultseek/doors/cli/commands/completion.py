"""``vaultseek completion``: the script that makes a shell complete the command line."""

from __future__ import annotations

import click

from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.options import shared_options


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@shared_options
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print a script for shell completion of commands, options, notes, tags, properties and vaults.

    Notes, tags and properties are completed while the daemon runs. Completion never starts it.

    \b
    bash:  echo 'eval "$(vaultseek completion bash)"' >> ~/.bashrc
    zsh:   vaultseek completion zsh > ~/.zfunc/_vaultseek     (a folder of your $fpath, before compinit)
    fish:  vaultseek completion fish > ~/.config/fish/completions/vaultseek.fish
    """
    from vaultseek.doors.cli.shell_completion import script

    print(script(shell, context.find_root().command))
    return SUCCESS
