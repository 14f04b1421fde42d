"""The commands of ``reactor fleet`` that show hosts, events and failures, and change nothing."""

from __future__ import annotations

import click

from reactor.cli.options.common import Format, format_option
from reactor.cli.options.fleet import channel_argument, home_option, host_argument, where_option
from reactor.cli.options.times import moment


@click.command(short_help="Show all channels, and the hosts that are not well.")
@where_option
@click.option("--watch", is_flag=True, help="Show it again after each change, until ^C.")
@click.option(
    "--counts", is_flag=True, help="Show what 'reactor fleet count' has counted, without reading the hosts."
)
@home_option
@format_option("one JSON object per channel")
def status(where: str, watch: bool, counts: bool, home: str, form: Format) -> None:
    """Show a line for each channel, and then its hosts that are not well.

    Exit codes: 0 shown; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet status
      reactor fleet status -l 'group:eu and serial<42'
      reactor fleet status --format json
    """
    if watch and (form == "json" or counts):
        raise click.UsageError("--watch can't be used with --format json or --counts")
    if counts:
        from reactor.cli.running.fleet_counts import show_counts

        show_counts(home, form)
        return
    from reactor.cli.running.fleet_views import show_status

    show_status(home, form, where, watch=watch)


@click.command(short_help="Show one channel with its gate and all its hosts.")
@channel_argument
@home_option
@format_option("one JSON object")
def rollout(channel: str, home: str, form: Format) -> None:
    """Show the rollout of CHANNEL, what its next wave waits for, and each host with its rank.

    Exit codes: 0 shown; 1 there is no such channel, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet rollout web
    """
    from reactor.cli.running.fleet_views import show_rollout

    show_rollout(home, channel, form)


@click.command(short_help="Show a line for each host.")
@where_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "csv", "ansible"]),
    default="text",
    show_default=True,
    help="Write text, one JSON object per host, CSV, or a dynamic inventory for Ansible.",
)
@home_option
def hosts(where: str, form: str, home: str) -> None:
    """Show a line for each host: its channels with serial and phase, its groups, and when it reported last.

    Exit codes: 0 shown; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet hosts -l 'web* and not well'
      reactor fleet hosts -l "facts.os == 'debian'" --format csv
      reactor fleet hosts --format ansible > inventory.json
    """
    from reactor.cli.running.fleet_views import show_hosts

    show_hosts(home, where, form)


@click.command(short_help="Show why a host has the release it has.")
@host_argument
@click.argument("ref", required=False)
@home_option
def why(host: str, ref: str | None, home: str) -> None:
    """Show why HOST has its release and not another, and what it reported last; with REF, the last events of that resource.

    Exit codes: 0 shown; 1 there is no such host, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet why web7
      reactor fleet why web7 'file#/etc/motd'
    """
    from reactor.cli.running.fleet_views import show_why

    show_why(home, host)
    if ref is not None:
        from reactor.cli.running.fleet_events import show_events_of

        show_events_of(home, host, ref)


@click.command(short_help="Show the events of all hosts, merged by time.")
@where_option
@click.option("--follow", "-f", is_flag=True, help="Wait for new events, until ^C.")
@click.option(
    "--since",
    callback=moment,
    metavar="TIME",
    help="Show events since TIME: 1h30m, '2 hours ago', yesterday, 14:00.  [default: 1h, or with --follow new ones]",
)
@click.option("--failed", is_flag=True, help="Show only failed and blocked resources.")
@home_option
@format_option("one JSON object per event")
def events(where: str, follow: bool, since: float | None, failed: bool, home: str, form: Format) -> None:
    """Show the events that hosts have sent, with the times of the hosts. The servers keep them for 7 days.

    Exit codes: 0 shown; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet events --since 2h --failed
      reactor fleet events -l 'group:eu' --format json
    """
    import time

    from reactor.cli.running.fleet_events import show_events

    if since is None and not follow:
        since = time.time() - 3600
    show_events(home, where, since, follow=follow, failed=failed, form=form)


@click.command(short_help="Show failures of all hosts, grouped.")
@where_option
@home_option
@format_option("one JSON object per failure")
def failures(where: str, home: str, form: Format) -> None:
    """Show what fails now, grouped by resource and message, on most hosts first. A host reports its five worst failures.

    Exit codes: 0 shown; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet failures
      reactor fleet failures -l 'channel:web'
    """
    from reactor.cli.running.fleet_views import show_failures

    show_failures(home, where, form)


@click.command(short_help="Count the hosts of all channels, until it is stopped.")
@click.option("--once", is_flag=True, help="Count once, and end.")
@home_option
@format_option("one JSON object per count")
def count(once: bool, home: str, form: Format) -> None:
    """Count the hosts of each channel by phase, and write the counts every 5 seconds, until it is stopped.

    Any machine of an operator can count. 'reactor fleet status --counts' shows the counts without reading the hosts.

    Exit codes: 0 counted; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet count --once
    """
    from reactor.cli.running.fleet_counts import keep_counts

    keep_counts(home, once=once, form=form)


@click.command(short_help="Serve the fleet page and the metrics, until it is stopped.")
@click.argument("address", default="127.0.0.1:8471")
@home_option
def serve(address: str, home: str) -> None:
    """Serve the page and the metrics of the whole fleet at ADDRESS, until it is stopped.

    The default of ADDRESS is 127.0.0.1:8471. The page shows counts, and the hosts that are not well. Its address has a
    token, which is kept in the directory of the operator. Prometheus reads /metrics with the token as 'Authorization:
    Bearer TOKEN'.

    Exit codes: 0 stopped; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet serve
    """
    from reactor.cli.running.fleet_page import serve_page

    serve_page(home, address)


COMMANDS = (status, rollout, hosts, why, events, failures, count, serve)
