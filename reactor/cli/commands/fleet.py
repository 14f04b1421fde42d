"""``reactor fleet``: signed releases to many hosts, in waves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.command_groups import SuggestingGroup
from reactor.cli.commands import fleet_enrolment, fleet_inspection, fleet_releases, fleet_views
from reactor.cli.commands.fleet_secrets import secret
from reactor.cli.messages import with_hint
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.fleet import channel_argument, home_option, host_argument, why_option
from reactor.cli.options.metrics import check_metrics_options, metrics_options
from reactor.cli.options.state_dir import directory_of, state_dir_option
from reactor.cli.options.times import at_least
from reactor.cli.options.trust import trusting_owners

if TYPE_CHECKING:
    from reactor.cli.options.metrics import MetricsEndpoint


_SHORTEST_LIFE = 3600
"""Seconds for which credentials are good at least."""
_SECTIONS = {
    "Set up": ("init", "doctor", "invite", "join", "admit", "keys", "expel", "revoke", "backup", "restore"),
    "Release": ("pack", "sign", "release", "diff", "pin", "gc"),
    "Roll out": (
        "drive",
        "approve",
        "advance",
        "pause",
        "resume",
        "halt",
        "rollback",
        "hold",
        "free",
        "follow",
    ),
    "Inspect": ("status", "rollout", "hosts", "why", "events", "failures", "count", "serve"),
    "Share": ("shared", "slots", "secret"),
}


_LIBRARIES = ("cryptography", "pyrage")
"""What the extra ``fleet`` adds to reactor."""


class FleetGroup(SuggestingGroup):
    """The group, which says how to install the libraries that only its commands need."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises UsageError if one of the libraries is missing."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if library not in _LIBRARIES:
                raise
            hint = f"install it with those of the extra 'fleet': {sys.executable} -m pip install 'reactor-converge[fleet]'"
            raise with_hint(click.UsageError(f"the library {library} is not installed"), hint) from error


@click.group(cls=FleetGroup, sections=_SECTIONS, short_help="Bring signed releases to many hosts, in waves.")
def fleet() -> None:
    """Bring signed releases to many hosts, in waves, over NATS with JetStream.

    These are the commands of operators: any machine with the directory of the operator can run them. Only 'join' and
    'follow' run on the hosts.

    \b
    Examples:
      reactor fleet release site/ web
      reactor fleet status
      reactor fleet rollback web --why 'the shop is slow'
    """


@fleet.command(short_help="Make the accounts and streams of a fleet, or renew them.")
@click.argument("servers", nargs=-1, required=True, metavar="URL...")
@click.option(
    "--ca",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Trust this authority for TLS.  [default: as before; the first time, those of the system]",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 5),
    help="The number of copies of each stream.  [default: as before; the first time, 3 in a cluster of three, else 1]",
)
@click.option(
    "--ccm-publishers/--no-ccm-publishers",
    default=None,
    help="Let publishers of CCM register, or not. Any host that registers can then wipe the registry.  [default: as before; the first time, not]",
)
@click.option(
    "--expires",
    "life",
    callback=at_least(_SHORTEST_LIFE),
    metavar="DURATION",
    help="Let the credentials of operators and of 'admit' expire after DURATION, such as 90d.  [default: as before; the first time, never]",
)
@home_option
def init(
    servers: tuple[str, ...],
    ca: str | None,
    replicas: int | None,
    ccm_publishers: bool | None,
    life: float | None,
    home: str,
) -> None:
    """Make the accounts and streams of a fleet on the NATS servers at URL, or renew what differs.

    The first time, this makes keys, and writes accounts.conf: include it in the configuration of each nats-server, start
    them, and run the command again. Run once more, it changes nothing, but renews credentials that expire soon. Back up
    the directory: it can't be made again.

    Exit codes: 0 all is there; 1 the servers don't know the accounts yet, or refuse; 2 bad usage, or damaged keys.

    \b
    Examples:
      reactor fleet init nats://127.0.0.1:4222
    """
    from reactor.cli.running.fleet import initialize

    raise click.exceptions.Exit(initialize(home, servers, ca, replicas, ccm_publishers, life=life))


@fleet.command(short_help="Move the waves of channels, until it is stopped.")
@click.argument("channels", nargs=-1, required=True, metavar="CHANNEL...")
@click.option("--until-ended", is_flag=True, help="End when nothing moves any more.")
@home_option
def drive(channels: tuple[str, ...], until_ended: bool, home: str) -> None:
    """Move the waves of each CHANNEL as its gate allows. Any operator's machine can drive, and any can stop.

    One drives a channel at a time, by a lease of 15 seconds; the others wait.

    Exit codes: 0 the release is done, a rollback that had begun before has ended, or it was stopped without
    --until-ended; 1 halted, paused or taken back, or no server answers; 2 bad usage; 128 + the signal that stopped it
    with --until-ended.

    \b
    Examples:
      reactor fleet drive web --until-ended
    """
    from reactor.cli.running.fleet import drive_channels

    raise click.exceptions.Exit(drive_channels(home, channels, until_ended=until_ended))


_COMMANDS = {
    "pause": ("Stop before the next wave.", "Stop the rollout of CHANNEL before its next wave. Hosts in the wave continue."),
    "resume": ("Continue after a pause or a halt.", "Continue the rollout of CHANNEL, in the same wave, which soaks again."),
    "halt": ("Stop, and leave hosts as they are.", "Stop the rollout of CHANNEL as if too many hosts had failed. Hosts keep the release that they have."),
    "advance": ("Begin the next wave now.", "Begin the next wave of CHANNEL now, whatever its gate asks for."),
    "approve": ("Approve the next wave that needs it.", "Let the next wave of CHANNEL that needs approval begin when its gate is open."),
    "rollback": ("Bring all hosts back to the previous release.", "Bring every host of CHANNEL back to the previous release."),
}  # fmt: skip


def _act(name: str) -> click.Command:
    short, text = _COMMANDS[name]

    def act(channel: str, why: str, home: str, form: Format) -> None:
        from reactor.cli.running.fleet import act_on

        act_on(home, channel, name, why, form)

    codes = "Exit codes: 0 done; 1 refused, or no server answers; 2 bad usage."
    text = f"{text}\n\n{codes}\n\n\b\nExamples:\n  reactor fleet {name} web\n"
    for option in (format_option("the new state as JSON"), home_option, why_option, channel_argument):
        act = option(act)
    return click.command(name, short_help=short, help=text)(act)


for _name in _COMMANDS:
    fleet.add_command(_act(_name))
for _command in (
    *fleet_enrolment.COMMANDS,
    *fleet_views.COMMANDS,
    *fleet_releases.COMMANDS,
    *fleet_inspection.COMMANDS,
    secret,
):
    fleet.add_command(_command)


@fleet.command(short_help="Let this host follow its channels.")
@click.option(
    "--config",
    default="/etc/reactor/fleet.yaml",
    show_default=True,
    metavar="FILE",
    help="Read the identity of this host, its servers and its channels from FILE.",
)
@click.option("--check", is_flag=True, help="Read the configuration, say what it means, and end.")
@format_option("one JSON object per event")
@metrics_options
@state_dir_option
def follow(
    config: str, check: bool, form: Format, endpoint: MetricsEndpoint | None, state_dir: str | None
) -> None:
    """Run the releases of the channels of this host, as 'reactor run' does, and take new ones, until stopped.

    What is in force is run at once, without network too, and repaired when it drifts. A release that is not signed as
    it must be, or whose manifest is not valid on this host, never comes into force.

    Exit codes: 0 stopped, or the configuration is good; 1 stopped while a resource was not as desired, or another run
    uses the state directory; 2 bad usage, or a wrong configuration.

    \b
    Examples:
      reactor fleet follow --check
    """
    from reactor.cli.running.fleet_host import follow as follow_channels

    check_metrics_options(click.get_current_context())
    with trusting_owners((), caller=False):
        code = follow_channels(config, directory_of(state_dir), form, endpoint, check=check)
    raise click.exceptions.Exit(code)


@fleet.command(short_help="Keep a host at its release.")
@host_argument
@why_option
@home_option
@format_option("what was changed as JSON")
def hold(host: str, why: str, home: str, form: Format) -> None:
    """Keep HOST at the release it has, whatever its channels say. Drift is repaired all the same.

    Exit codes: 0 held; 1 there is no such host, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet hold web7 --why 'we look at it'
    """
    from reactor.cli.running.fleet import hold_host

    hold_host(home, host, why, form)


@fleet.command(short_help="Let a host follow its channels again.")
@host_argument
@home_option
@format_option("what was changed as JSON")
def free(host: str, home: str, form: Format) -> None:
    """Let HOST follow its channels again: without hold and without pins.

    Exit codes: 0 free; 1 there is no such host, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet free web7
    """
    from reactor.cli.running.fleet import free_host

    free_host(home, host, form)


@fleet.command(short_help="Save what the servers keep of a fleet into a file.")
@click.argument("file")
@home_option
@format_option("what was saved as JSON")
def backup(file: str, home: str, form: Format) -> None:
    """Save all that the servers keep of the fleet into FILE: channels, hosts, releases, secrets, reports and events.

    FILE appears, or is replaced, when all is saved; only its owner can read it. Secrets in it are encrypted as on the
    servers, and all else is readable. It does not have the keys: back up the directory of the operator, too.

    Exit codes: 0 saved; 1 no room, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet backup /srv/backup/fleet.zip
    """
    from reactor.cli.running.fleet_backup import save

    save(home, file, form)


@fleet.command(short_help="Restore what 'backup' saved on new servers.")
@click.argument("file")
@click.option(
    "--replicas",
    type=click.IntRange(1, 5),
    help="The number of copies of each stream.  [default: that of the streams there; without any, 3 in a cluster of three, else 1]",
)
@click.option("--replace", is_flag=True, help="Delete what the servers have in these streams now.")
@home_option
@format_option("what was restored as JSON")
def restore(file: str, replicas: int | None, replace: bool, home: str, form: Format) -> None:
    """Restore all that 'reactor fleet backup' saved into FILE, on servers with the accounts of this fleet.

    All of FILE is checked before anything is changed. If a restore has not ended, give it again, with --replace.

    Exit codes: 0 restored; 1 FILE is damaged or of another fleet, the servers have data, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet restore /srv/backup/fleet.zip
    """
    from reactor.cli.running.fleet_backup import restore_from

    restore_from(home, file, form, replicas=replicas, replace=replace)
