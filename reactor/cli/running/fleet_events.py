"""The work of ``reactor fleet events``, and of ``why`` with a resource."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import aclosing
from operator import attrgetter

import click

from reactor.cli.messages import notice
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import chosen_by, within, within_until_signal
from reactor.console.history_lines import entry_line
from reactor.console.jsonlines import line
from reactor.console.style import Style, wants_colour
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.events import Damaged, HostEvent, fleet_events
from reactor.fleet.operator.known_hosts import read_fleet
from reactor.fleet.operator.where import Predicate
from reactor.journal.row_validation import validated

_BAD = ("failed", "blocked")
_MOMENT = attrgetter("time")
_LAST = 20
"""Events of a resource that `why` shows."""


def show_events(
    home: str, where: str, since: float | None, *, follow: bool, failed: bool, form: Format
) -> None:
    """Show the events of the chosen hosts, merged by time; with ``follow``, new ones as they arrive."""
    is_chosen = chosen_by(where)
    write = _writer(form)

    def is_wanted(event: HostEvent) -> bool:
        return not failed or event.record.get("result") in _BAD

    async def read(js: JetStream) -> None:
        hosts = await _hosts(js, is_chosen) if where else None
        found: list[HostEvent] = []
        events = fleet_events(js, since=since, hosts=hosts, follow=follow, damaged=_report)
        async with aclosing(events) as batches:
            async for batch in batches:
                valid = [each for each in batch if _is_valid(each) and is_wanted(each)]
                if follow:
                    for each in sorted(valid, key=_MOMENT):
                        write(each)
                else:
                    found += valid
        for each in sorted(found, key=_MOMENT):
            write(each)

    if follow:
        within_until_signal(home, read)
    else:
        within(home, read)


def show_events_of(home: str, host: str, ref: str) -> None:
    """Show the last events of one resource of one host."""

    async def read(js: JetStream) -> list[HostEvent]:
        found: list[HostEvent] = []
        async for batch in fleet_events(js, since=0.0, hosts=[host], damaged=_report):
            found += [each for each in batch if each.record.get("ref") == ref and _is_valid(each)]
            del found[:-_LAST]
        return found

    found = within(home, read)
    click.echo(f"  {ref}:" if found else f"  {ref}: the servers have no events of it")
    style = Style(wants_colour(sys.stdout))
    for each in sorted(found, key=_MOMENT):
        click.echo(f"    {entry_line(each.record, style, aligned=False)}", color=True)


async def _hosts(js: JetStream, is_chosen: Predicate) -> set[str]:
    fleet = await read_fleet(js)
    return {
        name
        for name, host in fleet.hosts.items()
        if any(is_chosen(host, line) for line in fleet.lines_of(host))
    }


def _is_valid(event: HostEvent) -> bool:
    """Whether the record has the fields of its event. Invalid records are left out, since a host may send anything."""
    try:
        validated(event.record)
        entry_line(event.record, Style(False), aligned=False)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError):
        return False
    return True


def _report(damaged: Damaged) -> None:
    notice(f"{damaged.host}: {damaged.why}", None)


def _writer(form: Format) -> Callable[[HostEvent], None]:
    if form == "json":
        return lambda event: click.echo(line({**event.record, "host": event.host}), nl=False)
    style = Style(wants_colour(sys.stdout))
    is_terminal = sys.stdout.isatty()

    def write(event: HostEvent) -> None:
        click.echo(f"{event.host}  {entry_line(event.record, style, aligned=is_terminal)}", color=True)

    return write
