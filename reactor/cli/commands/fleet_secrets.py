"""``reactor fleet secret``: values that are encrypted to single hosts."""

from __future__ import annotations

import click

from reactor.cli.command_groups import SuggestingGroup
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.fleet import home_option

_changes_option = format_option("what was changed as JSON")


@click.group(cls=SuggestingGroup, short_help="Give secrets to hosts, encrypted to each.")
def secret() -> None:
    """Give secrets to hosts. The servers keep them encrypted to each host, and can't read them.

    A manifest reads one with 'secrets: {db: {fleet: NAME}}'. The keys of the fleet sign each value, so this needs the
    directory of the operator.

    \b
    Examples:
      reactor fleet secret list
    """


@secret.command("set", short_help="Give a secret to hosts.")
@click.argument("name")
@click.option(
    "--for",
    "where",
    required=True,
    metavar="WHERE",
    help="Give it to these hosts: 'web*', group:eu, channel:web, joined with and, or, not.",
)
@click.option(
    "--from",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Read the value from FILE. Without it, from standard input.",
)
@home_option
@_changes_option
def set_secret(name: str, where: str, file: str | None, home: str, form: Format) -> None:
    """Give the secret NAME to the hosts that --for chooses, in place of its old value, and take it from all others.

    The value is UTF-8 text of at most 256 KiB, and is kept as it is, with a newline at its end. Nothing is changed if one
    of the hosts has no age key: 'reactor fleet join' makes it.

    Exit codes: 0 set; 1 refused, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet secret set db --for group:web < password.txt
      reactor fleet secret set tls-key --for group:web --from tls.key
    """
    from reactor.cli.running.fleet_secrets import set_from

    set_from(home, name, where, file, form)


@secret.command("list", short_help="Show which hosts have which secrets.")
@home_option
@format_option("one JSON object per secret")
def list_secrets(home: str, form: Format) -> None:
    """Show the name of each secret, the hosts that have it, and those that lack it. No value is read.

    Exit codes: 0 shown; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet secret list
    """
    from reactor.cli.running.fleet_secrets import show_secrets

    show_secrets(home, form)


@secret.command(short_help="Give secrets to hosts that lack them.")
@home_option
@_changes_option
def sync(home: str, form: Format) -> None:
    """Give each secret to the hosts that --for chooses now and that lack it, such as new hosts of a group.

    It needs the age key with which the secret was set: secrets-age.key in the directory of the operator. A host that is
    chosen no more keeps what it has until the secret is set again.

    Exit codes: 0 no host lacks a secret; 1 refused, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet secret sync
    """
    from reactor.cli.running.fleet_secrets import sync_secrets

    sync_secrets(home, form)


@secret.command("rm", short_help="Remove a secret from all hosts.")
@click.argument("name")
@home_option
@_changes_option
def remove(name: str, home: str, form: Format) -> None:
    """Remove the secret NAME from the servers and from all hosts. Files that hosts made of it stay.

    Exit codes: 0 removed; 1 there is no such secret, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet secret rm db
    """
    from reactor.cli.running.fleet_secrets import remove_from

    remove_from(home, name, form)
