"""``reactor completion``: what a shell needs to complete our commands."""

from __future__ import annotations

import click


@click.command(short_help="Let your shell complete commands and names.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete commands, options, kinds and the names of resources.

    Names come from the manifest on the line (run --only, graph --around), from the journal (why, status, pause) or
    from the session (ensure --require).

    \b
    For yourself, in what your shell reads when it starts (zsh: after compinit):
      echo 'eval "$(reactor completion bash)"' >> ~/.bashrc
      echo 'eval "$(reactor completion zsh)"' >> ~/.zshrc
      echo 'reactor completion fish | source' >> ~/.config/fish/config.fish

    The examples below are for all users, as root. What is there for bash is read by the package bash-completion; for
    zsh by compinit, which must be in ~/.zshrc.

    Exit codes: 0 done; 2 bad usage.

    \b
    Examples:
      reactor completion bash > /etc/bash_completion.d/reactor
      reactor completion zsh > /usr/local/share/zsh/site-functions/_reactor
      reactor completion fish > /etc/fish/completions/reactor.fish
    """
    from click.shell_completion import ShellComplete

    from reactor.cli.completion_scripts import SCRIPTS
    from reactor.cli.group import reactor

    names = ShellComplete(reactor, {}, "reactor", "_REACTOR_COMPLETE").source_vars()
    click.echo(SCRIPTS[shell].strip() % names)
