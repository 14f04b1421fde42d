"""``reactor completion``: what a shell needs to complete our commands."""

from __future__ import annotations

import click


@click.command(short_help="Let your shell complete commands and names.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete commands, options, kinds and the names of resources.

    Names come from the manifest on the line (run --only, graph --around), from the journal (why, status, pause) or
    from the session (ensure --require).

    \b
    Exit codes: 0 done; 2 bad usage.

    \b
    Examples:
      reactor completion bash > /etc/bash_completion.d/reactor
      reactor completion zsh > /usr/local/share/zsh/site-functions/_reactor
      reactor completion fish > ~/.config/fish/completions/reactor.fish
    """
    from click.shell_completion import get_completion_class

    from reactor.cli.bash_script import BASH_SCRIPT
    from reactor.cli.group import reactor

    if (found := get_completion_class(shell)) is None:
        raise click.ClickException(f"click has no completion for {shell}")
    script = found(reactor, {}, "reactor", "_REACTOR_COMPLETE")
    template = BASH_SCRIPT if shell == "bash" else script.source_template
    click.echo(template % script.source_vars())
