"""``reactor fleet invite``, ``join``, ``admit``, ``expel`` and ``revoke``: who comes into a fleet, and who leaves it."""

from __future__ import annotations

import click

from reactor.cli.messages import with_hint
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.fleet import home_option

_CONFIG = "/etc/reactor/fleet.yaml"
_LONGEST = 30 * 86_400.0
"""Seconds for which a token is good at most."""


def _duration(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    from reactor.resource.property_types import parse_duration

    try:
        seconds = parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if not 1 <= seconds <= _LONGEST:
        raise with_hint(click.BadParameter("it must be from 1 second to 30 days"), "write 10m, 2h or 7d")
    return seconds


@click.command(short_help="Make a token with which hosts can join.")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="NAME",
    help="Let them follow this channel. Repeatable.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="Put them into this group; 'canary' takes each release first.",
)
@click.option(
    "--uses",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="The number of hosts that can join with it.",
)
@click.option(
    "--for",
    "life",
    default="1h",
    show_default=True,
    callback=_duration,
    metavar="DURATION",
    help="Let the token expire after this time, such as 1h or 7d.",
)
@click.option(
    "--require",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="The number of people who must sign what these hosts run.",
)
@click.option(
    "--signers",
    default="/etc/reactor/fleet-signers",
    show_default=True,
    metavar="FILE",
    help="Let hosts trust the signatures of the people in FILE.",
)
@click.option("--withdraw", metavar="ID", help="Let no host join any more with the token ID.")
@home_option
def invite(
    channels: tuple[str, ...],
    groups: tuple[str, ...],
    uses: int,
    life: float,
    require: int,
    signers: str,
    withdraw: str | None,
    home: str,
) -> None:
    """Make a token with which hosts can join, and print it.

    Give it to 'reactor fleet join' on the hosts. It is a secret: a machine that has it can become a host of these channels
    and groups, until it expires or has been used up. No server knows its secret part.

    Exit codes: 0 made, or withdrawn; 1 refused, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet invite --channel web
      reactor fleet invite --channel web --group eu --uses 50 --for 1h
    """
    from reactor.cli.running.fleet_enrolment import make_token, withdraw_token

    if withdraw is not None:
        withdraw_token(home, withdraw)
        return
    if not channels:
        raise with_hint(click.UsageError("missing option --channel"), "hosts follow at least one channel")
    make_token(home, channels, groups, uses=uses, life=life, require=require, signers=signers)


@click.command(short_help="Let this host join a fleet.")
@click.argument("token")
@click.option("--name", metavar="NAME", help="Join as NAME. The default is the name of this host.")
@click.option(
    "--config",
    default=_CONFIG,
    show_default=True,
    metavar="FILE",
    help="Write the identity of this host into FILE, and its keys beside it.",
)
@click.option(
    "--wait",
    "seconds",
    default="10m",
    show_default=True,
    callback=_duration,
    metavar="DURATION",
    help="Wait this long to be admitted.",
)
def join(token: str, name: str | None, config: str, seconds: float) -> None:
    """Let this host join a fleet with the TOKEN of 'reactor fleet invite'; - reads it from stdin.

    The host makes its keys, which never leave it, and asks to be admitted. Run again, it joins with the same keys.
    Other users can see an argument in the list of processes, so pass the token on stdin.

    Exit codes: 0 joined; 1 refused, not admitted in time, or no server answers; 2 bad usage, or a damaged token.

    \b
    Examples:
      reactor fleet join - --name web9 < token
    """
    from reactor.cli.running.fleet_enrolment import join_fleet

    join_fleet(token, name, config, seconds)


@click.command(short_help="Admit hosts that ask to join, or one host by hand.")
@click.argument("host", required=False)
@click.option("--list", "only_list", is_flag=True, help="Show the hosts that wait, and admit none.")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="NAME",
    help="With -o: let it follow this channel. Repeatable.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="With -o: put it into this group; 'canary' takes each release first.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Make keys for HOST, and write its credentials to FILE, which only its owner can read.",
)
@click.option(
    "--life",
    default="30d",
    show_default=True,
    callback=_duration,
    metavar="DURATION",
    help="Let credentials expire after this time; hosts renew them.",
)
@home_option
@format_option("what was changed as JSON, with -o")
def admit(
    host: str | None,
    only_list: bool,
    channels: tuple[str, ...],
    groups: tuple[str, ...],
    output: str | None,
    life: float,
    home: str,
    form: Format,
) -> None:
    """Admit hosts that ask to join with a token, and renew credentials, until it is stopped.

    With HOST, admit that one host when it asks, and end. With -o, enrol a host that does not ask: write credentials to
    copy to it. The service needs admit.json, admit.creds and servers.json of the operator's directory, and no other keys.

    Exit codes: 0 admitted, or stopped; 1 refused, the name is taken, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet admit --list
      reactor fleet admit web7 --channel web -o web7.creds
    """
    from reactor.cli.running.fleet import admit_host
    from reactor.cli.running.fleet_enrolment import admit_one, list_waiting, serve

    if output is not None:
        if host is None or not channels:
            raise with_hint(
                click.UsageError("-o needs a HOST and --channel"), "admit HOST --channel NAME -o FILE"
            )
        admit_host(home, host, channels, groups, output, life=int(life), form=form)
    elif channels or groups:
        raise with_hint(
            click.UsageError("--channel and --group are for -o"), "the token of a host says its channels"
        )
    elif only_list:
        list_waiting(home)
    elif host is not None:
        admit_one(home, host, int(life))
    else:
        serve(home, int(life))


@click.command(short_help="Revoke the keys of a host, and forget it.")
@click.argument("host")
@click.option(
    "--rekey",
    is_flag=True,
    help="Let the host join again under its name with new keys, after a reinstallation.",
)
@home_option
def expel(host: str, rekey: bool, home: str) -> None:
    """Revoke the keys of HOST, which disconnects it at once, and delete its secrets and the values that it shares.

    Its last summary is kept. What the host runs stays as it is: nothing can reach it any more.

    Each server of a cluster revokes for itself. The command names the servers that have confirmed it, and those that have not.

    Exit codes: 0 expelled; 1 a server has not confirmed it, there is no such host, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet expel web7
    """
    from reactor.cli.running.fleet_enrolment import expel_host

    expel_host(home, host, rejoins=rekey)


@click.command(short_help="Revoke the credentials of operators, and make new ones.")
@home_option
def revoke(home: str) -> None:
    """Revoke all credentials of operators and of 'admit', and make new ones here, as when a machine that had a copy is lost.

    It disconnects at once what uses the old ones: copy the new files to the other machines of operators. Hosts go on. It
    does not help if keys.json was on the lost machine, or admit.json: who has these can make users or hosts.

    Each server of a cluster revokes for itself: the names of those that have confirmed it are shown, and of those that have not.

    Exit codes: 0 revoked; 1 a server has not confirmed it, or no server answers; 2 bad usage, or no keys.

    \b
    Examples:
      reactor fleet revoke
    """
    from reactor.cli.running.fleet_enrolment import revoke_credentials

    revoke_credentials(home)


COMMANDS = (invite, join, admit, expel, revoke)
