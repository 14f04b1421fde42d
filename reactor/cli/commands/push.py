"""``reactor push``: brings a directory to hosts over ssh, and runs it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reactor.cli.messages import with_hint
from reactor.cli.options.common import Format, dry_run_option, format_option
from reactor.cli.options.sizes import max_size_option
from reactor.cli.options.times import at_least
from reactor.cli.options.trust import Owner, trust_option, trusting_owners

if TYPE_CHECKING:
    from reactor.fleet.bundle.limits import BundleLimits

_HELP = """Bring DIRECTORY to hosts over ssh, and run its manifest.yaml there until it has converged.

Name the hosts, or give an inventory: Ansible's INI or YAML, or one host on each line. The system's ssh connects, with
your configuration, agent and known hosts; a login must work without a password. reactor must be installed on each host.

The directory is packed, and is in force on a host only once it is there as a whole and its manifest is valid there.
The previous bundle is kept: --rollback puts it into force again. Variables of the inventory are facts there: Facts.fleet.vars.

Exit codes: 0 all hosts are as desired; 1 some failed; 2 bad usage, or the inventory is wrong; 3 some can't be
reached; 4 on some, reactor is missing; 130 or 143 ended by a signal. With several of these, the first of 1, 3, 4.

\b
Examples:
  reactor push site/ web1 web2,db1 --noop --diff
  reactor push site/ -i hosts.yaml
  reactor push site/ -i hosts.yaml -l 'web:!web3'
  reactor push site/ -i hosts.ini --serial 1,10%,100% --max-failed 5%
  reactor push --rollback -i hosts.yaml
  reactor push site/ web1 --stay
"""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _parsed(parse: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """A callback that reads the value of an option with ``parse``, which raises ValueError."""

    def callback(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from error

    return callback


def _serial(text: str) -> Any:
    from reactor.fleet.push.waves import parse_serial

    return parse_serial(text)


def _amount(text: str) -> Any:
    from reactor.fleet.push.waves import Amount

    return Amount.parse(text)


def _which_hosts(command: _Command) -> _Command:
    """The options that say which hosts, and in which order."""
    for option in (
        click.option("-i", "--inventory", metavar="FILE", type=click.Path(exists=True), help="Read the hosts from this inventory."),
        click.option("--inventory-command", metavar="COMMAND", help="Read them from the output of COMMAND, which prints an inventory: 'ansible-inventory --list'."),
        click.option("-l", "--limit", metavar="PATTERN", help="Push only to these hosts: names, groups, globs, 'web:!web3', 'web:&eu'."),
        click.option("--serial", metavar="N,...", callback=_parsed(_serial), help="Push in waves of these sizes, as numbers of hosts or percentages. The last one repeats.  [default: 100%]"),
        click.option("--max-failed", metavar="N", callback=_parsed(_amount), default="0", show_default=True, help="Begin no further wave when more hosts, or more percent of those tried, failed or could not be reached."),
        click.option("--forks", type=click.IntRange(1, 1000), default=20, show_default=True, metavar="N", help="Push to up to N hosts at once."),
    ):  # fmt: skip
        command = option(command)
    return command


def _what_to_do(command: _Command) -> _Command:
    """The options that say what happens on each host."""
    for option in (
        dry_run_option("--noop", help="Dry run: show what would be done on each host, and change nothing there."),
        click.option("--diff", is_flag=True, help="Show changes as unified diffs."),
        click.option("--rollback", is_flag=True, help="Bring back the bundle that each host had before. Takes no DIRECTORY."),
        click.option("--stay", is_flag=True, help="Install reactor as a service on each host, which follows the bundle and repairs drift."),
        click.option("--sudo", is_flag=True, help="Run reactor through 'sudo -n' on each host, also without 'ansible_become' in the inventory."),
        click.option("--bootstrap", is_flag=True, help="Where reactor is missing, send it along, with its libraries, once: later pushes find it. The host needs the same version of Python as this machine."),
        max_size_option,
    ):  # fmt: skip
        command = option(command)
    return command


def _connection(command: _Command) -> _Command:
    """The options for ssh."""
    for option in (
        click.option("-F", "--ssh-config", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Use this configuration file of ssh instead of your own."),
        click.option("--connect-timeout", callback=at_least(1, 3600), default="10s", show_default=True, metavar="DURATION", help="Give up on a host that does not accept a connection for this long."),
        click.option("--timeout", callback=at_least(1), default="30m", show_default=True, metavar="DURATION", help="Give up on a host that has not ended after this long."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(short_help="Bring a directory to hosts over ssh, and run it there.", help=_HELP)
@click.argument("words", nargs=-1, metavar="DIRECTORY [HOST...]")
@_which_hosts
@_what_to_do
@_connection
@format_option("one JSON object per event, with its host")
@trust_option
def push(
    words: tuple[str, ...],
    rollback: bool,
    trusted_owners: tuple[Owner, ...],
    limits: BundleLimits,
    form: Format,
    **options: Any,
) -> None:
    """Push to the hosts. The help is `_HELP`."""
    directory, names = (None, words) if rollback else (words[0] if words else None, words[1:])
    if directory is None and not rollback:
        hint = "give the directory that holds manifest.yaml: reactor push site/ web1"
        raise with_hint(click.UsageError("there is no directory to push"), hint)
    sources = [bool(names), options["inventory"] is not None, options["inventory_command"] is not None]
    if sum(sources) != 1:
        error = click.UsageError("name the hosts, or give --inventory or --inventory-command")
        raise with_hint(error, "one of the three")
    from reactor.cli.running.pushing import PushCommand

    with trusting_owners(trusted_owners):
        code = PushCommand(directory, names, limits, form, **options).push()
    raise click.exceptions.Exit(code)
