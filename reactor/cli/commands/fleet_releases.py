"""The commands of ``reactor fleet`` that pack, sign, release, pin and compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reactor.cli.options.common import Format, dry_run_option, format_option
from reactor.cli.options.fleet import home_option, host_argument, key_option, why_option
from reactor.cli.options.sizes import max_size_option
from reactor.cli.options.times import at_least, moment_ahead
from reactor.cli.options.trust import Owner, trust_option, trusting_owners

if TYPE_CHECKING:
    from reactor.fleet.bundle.limits import BundleLimits

_changed = format_option("what was changed as JSON")


@click.command(short_help="Sign a directory as the next release of a channel, and begin its rollout.")
@click.argument("words", nargs=-1, metavar="[DIRECTORY] CHANNEL")
@key_option
@click.option(
    "--waves",
    default="1%,10%,50%,100%",
    show_default=True,
    metavar="N,...",
    help="The sizes of the waves, as numbers of hosts or percentages, up to 100%.",
)
@click.option(
    "--soak",
    callback=at_least(0),
    default="5m",
    show_default=True,
    metavar="DURATION",
    help="Wait this long after the last host of a wave has converged.",
)
@click.option(
    "--splay",
    callback=at_least(0),
    default="0",
    show_default=True,
    metavar="DURATION",
    help="Let each host of a wave download at a random time within DURATION.",
)
@click.option(
    "--max-failed", default="2%", show_default=True, metavar="N", help="Halt when more hosts of a wave fail."
)
@click.option(
    "--max-silent",
    default="5%",
    show_default=True,
    metavar="N",
    help="Wait while more hosts of a wave are silent.",
)
@click.option(
    "--min-converged",
    default="95%",
    show_default=True,
    metavar="N",
    help="Wait until this number of hosts has converged.",
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="NAME",
    help="Wait until this health check is OK on a host. Repeatable.",
)
@click.option(
    "--approve", default="", metavar="N,...", help="Let these waves wait for 'reactor fleet approve'."
)
@click.option(
    "--on-halt",
    type=click.Choice(["by-size", "revert", "stay"]),
    default="by-size",
    show_default=True,
    help="When it halts, let hosts go back, stay, or go back from waves of less than 50%.",
)
@click.option(
    "--again",
    type=click.IntRange(1),
    metavar="SERIAL",
    help="Take the bundle of this earlier release of CHANNEL instead of DIRECTORY.",
)
@click.option(
    "--serial",
    type=click.IntRange(1),
    metavar="N",
    help="Use this serial, after the servers have lost the releases that hosts took.  [default: the next one]",
)
@click.option(
    "--draft",
    is_flag=True,
    help="Sign and store the release, and do not begin it, so that others can sign it too.",
)
@click.option("--signed", metavar="RELEASE", help="Begin the rollout of this draft, instead of DIRECTORY.")
@click.option(
    "--window",
    default="",
    metavar="HOURS",
    help="Begin waves only then: 'Mon-Thu 09:00-16:00 Europe/Vienna'.",
)
@click.option(
    "--targets",
    default="",
    metavar="EXPRESSION",
    help="Release only to hosts whose facts make this expression true.",
)
@click.option("--note", default="", metavar="TEXT", help="Describe the release; others see it.")
@dry_run_option("--dry-run", help="Show which hosts would take it in which wave, and change nothing.")
@click.option("--wait", is_flag=True, help="Drive the rollout until it ends.")
@max_size_option
@home_option
@format_option("what was changed as JSON")
@trust_option
def release(
    words: tuple[str, ...], home: str, form: Format, trusted_owners: tuple[Owner, ...], **wishes: Any
) -> None:
    """Pack DIRECTORY, sign it as the next release of CHANNEL, and begin its rollout.

    The manifest must be valid as for 'reactor fleet pack'. Without --wait, 'reactor fleet drive' moves the waves.
    --again begins the bundle of an earlier release once more, with a new serial.

    Exit codes: 0 begun, or with --wait done; 1 refused, halted, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet release site/ web --dry-run
      reactor fleet release site/ web --waves 1,10%,100% --key deploy_key
      reactor fleet release web --again 1 --note 'back to the first'
    """
    from reactor.cli.running.fleet_releases import begin

    *directories, channel = words or ("",)
    given = [bool(directories), wishes["again"] is not None, wishes["signed"] is not None]
    if not channel or len(directories) > 1 or sum(given) != 1:
        raise click.UsageError("give DIRECTORY and CHANNEL, or CHANNEL with --again or --signed")
    if form == "json" and wishes["wait"]:
        raise click.UsageError("--wait can't be used with --format json")
    with trusting_owners(trusted_owners):
        raise click.exceptions.Exit(
            begin(home, directories[0] if directories else None, channel, form, **wishes)
        )


@click.command(short_help="Pack a directory, and say what its bundle is.")
@click.argument("directory", type=click.Path(exists=True, file_okay=False))
@click.option("-o", "--output", metavar="FILE", help="Write the bundle to FILE.")
@max_size_option
@format_option("the bundle as JSON")
@trust_option
def pack(
    directory: str,
    output: str | None,
    limits: BundleLimits,
    form: Format,
    trusted_owners: tuple[Owner, ...],
) -> None:
    """Pack DIRECTORY as a release would, and show the name, the size and the number of files of the bundle.

    The same files give the same bundle on every machine. The manifest must be valid here; where there are files of facts
    fleet-tests/*.yaml, it must be valid with the facts of each of them instead.

    Exit codes: 0 packed; 2 bad usage, or an invalid manifest.

    \b
    Examples:
      reactor fleet pack site/
    """
    from reactor.cli.running.fleet_releases import pack_directory

    with trusting_owners(trusted_owners):
        pack_directory(directory, output, form, limits)


@click.command(short_help="Add a signature to a release.")
@click.argument("release")
@key_option
@home_option
@_changed
def sign(release: str, key: str, home: str, form: Format) -> None:
    """Add a signature to RELEASE, which is stored: CHANNEL/SERIAL, or a digest.

    Hosts with 'require: 2' take only what two people have signed: store it with 'release --draft', sign it here, and
    begin it with 'release --signed'.

    Exit codes: 0 signed; 1 there is no such release, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet sign web/1 --key deploy_key
    """
    from reactor.cli.running.fleet_releases import sign_release

    sign_release(home, release, key, form)


@click.command(short_help="Pin a host to a release.")
@host_argument
@click.argument("release")
@click.option(
    "--until", callback=moment_ahead, metavar="DURATION", help="End the pin after DURATION, such as 2h."
)
@key_option
@why_option
@home_option
@_changed
def pin(host: str, release: str, until: float | None, key: str, why: str, home: str, form: Format) -> None:
    """Pin HOST to RELEASE, whatever its channel says: CHANNEL/SERIAL, or a digest. The pin is signed.

    A host refuses a pin to a release below its floor. 'reactor fleet free' ends the pin.

    Exit codes: 0 pinned; 1 there is no such host or release, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet pin web9 web/1 --why 'old data'
    """
    from reactor.cli.running.fleet_releases import pin as pin_to

    pin_to(home, host, release, form, key=key, why=why, until=until)


@click.command(short_help="Remove releases and bundles that nothing needs.")
@click.option(
    "--keep",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Keep this number of releases of each channel.",
)
@dry_run_option("--dry-run", help="Show what would be removed, and change nothing.")
@home_option
@_changed
def gc(keep: int, dry_run: bool, home: str, form: Format) -> None:
    """Remove the stored releases and bundles that no channel and no pin needs. What is younger than a day stays.

    Exit codes: 0 removed; 1 a document is damaged, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet gc --dry-run
    """
    from reactor.cli.running.fleet_releases import remove_garbage

    remove_garbage(home, keep, form, dry_run=dry_run)


@click.command(short_help="Show what differs between two releases.")
@click.argument("before")
@click.argument("after")
@home_option
@format_option("one JSON object")
def diff(before: str, after: str, home: str, form: Format) -> None:
    """Show what differs between two releases: files, and resources as they would be on this host.

    Name each as CHANNEL/SERIAL, by its digest, or as a directory.

    Exit codes: 0 shown; 1 there is no such release, or no server answers; 2 bad usage, or an invalid manifest.

    \b
    Examples:
      reactor fleet diff web/1 site/
    """
    from reactor.cli.running.fleet_diff import show_diff

    show_diff(home, before, after, form)


COMMANDS = (release, pack, sign, pin, gc, diff)
