"""The work of ``reactor fleet count``, and of ``status --counts``."""

from __future__ import annotations

import json

import click

from reactor.cli.messages import notice
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import author, within, within_by_clock, within_until_signal
from reactor.fleet.bucket_names import COUNTS
from reactor.fleet.documents import canonical
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.counting import ChannelCounts, counts_of, keep_counting, read_counts
from reactor.fleet.operator.known_hosts import read_fleet
from reactor.fleet.operator.overview import overviews


def keep_counts(home: str, *, once: bool, form: Format) -> None:
    """Write the counts, and show them when they change."""
    shown: dict[str, dict[str, int]] = {}

    def show(counts: ChannelCounts) -> None:
        if shown.get(counts.channel) != counts.phases:
            shown[counts.channel] = counts.phases
            _show(counts, form, counts.time)

    async def count_once(js: JetStream) -> None:
        fleet = await read_fleet(js)
        for each in overviews(fleet):
            counts = counts_of(fleet, each, author())
            await js.key_value(COUNTS).put(counts.channel, canonical(counts.to_fields()))
            show(counts)

    if once:
        within(home, count_once)
    else:
        within_until_signal(home, lambda js: keep_counting(js, author(), show, _wait_for_servers))


def _wait_for_servers(error: LinkError) -> None:
    notice(f"the counts are not written, and tried again: {error.message}", error.hint)


def show_counts(home: str, form: Format) -> None:
    """Show the last counts."""
    found, now = within_by_clock(home, read_counts)
    for each in found:
        _show(each, form, now)
    if not found and form == "text":
        click.echo("nothing is counted: run reactor fleet count")


def _show(counts: ChannelCounts, form: Format, now: float) -> None:
    click.echo(json.dumps(counts.to_fields()) if form == "json" else counts.headline(now))
