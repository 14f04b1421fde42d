"""The work of ``reactor fleet serve``: the fleet page and the metrics, kept up to date."""

from __future__ import annotations

import json
from typing import Any

import click
import trio

from reactor.cli.messages import fail_for, notice
from reactor.cli.running.fleet_session import within_until_signal
from reactor.control.listen_address import Address, AddressError, parse_address
from reactor.control.server import serve
from reactor.control.tcp_listener import TcpListener
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.explanation import TWIN
from reactor.fleet.operator.failures import Failure, failures
from reactor.fleet.operator.known_hosts import FleetView
from reactor.fleet.operator.live_fleet import LiveFleet
from reactor.fleet.operator.overview import Overview, overviews
from reactor.ui.access import Access
from reactor.ui.fleet_application import FleetPage

_MOST_HOSTS, _MOST_FAILURES = 200, 50
_FRAME = 1.0
"""Seconds between two pictures: 10,000 hosts take a tenth of a second of processor time each."""


class LiveSource:
    """The newest picture of a fleet."""

    def __init__(self) -> None:
        self.fleet = FleetView({}, {})
        self.overviews: list[Overview] = []

    def take(self, fleet: FleetView) -> str:
        """Store the current state; return the picture for the page."""
        self.fleet, self.overviews = fleet, overviews(fleet)
        return json.dumps(picture(fleet, self.overviews, failures(fleet)), separators=(",", ":"))

    def metrics(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics, and their media type."""
        from reactor.cli.running.fleet_metrics import render

        return render(self.fleet, self.overviews, accept)


def picture(fleet: FleetView, found: list[Overview], failed: list[Failure]) -> dict[str, Any]:
    """Return the content of the page: the counts, and the first 200 hosts of each list.

    A list has the unwell hosts of a channel; the last one has the hosts that the servers do not know.
    """
    channels = []
    for each in found:
        unwell = each.unwell()
        channels.append(
            {
                "channel": each.state.channel,
                "headline": each.headline(),
                "why": each.state.why,
                "counts": each.counts(),
                "conditions": [vars(condition) for condition in each.gate],
                "unwell_count": len(unwell),
                "unwell": [
                    {"host": line.host, "phase": line.phase, "serial": line.serial, "why": line.why}
                    for line in unwell[:_MOST_HOSTS]
                ],
                "lacks": [
                    {"host": host, "secrets": list(names)}
                    for host, names in list(each.lacks.items())[:_MOST_HOSTS]
                ],
                "lacks_count": len(each.lacks),
                "twins": [{"host": host, "problem": TWIN} for host in each.twins[:_MOST_HOSTS]],
                "twins_count": len(each.twins),
            }
        )
    grouped = [
        {"resource": each.resource, "message": each.message, "hosts": len(each.hosts)}
        for each in failed[:_MOST_FAILURES]
    ]
    return {
        "hosts": len(fleet.members()),
        "channels": channels,
        "failures": grouped,
        "unknown": fleet.unknown[:_MOST_HOSTS],
        "unknown_count": len(fleet.unknown),
    }


def serve_page(home: str, address: str) -> None:
    """Serve the page until stopped."""
    try:
        port = TcpListener(parse_address(address))
    except AddressError as error:
        fail_for(error)
    try:
        access = Access.to(Address(*port.address), home, "reactor fleet serve")
        page = FleetPage(access, source := LiveSource())
        within_until_signal(home, lambda js: _served(js, port, page, source))
    finally:
        port.close()


async def _served(js: JetStream, port: TcpListener, page: FleetPage, source: LiveSource) -> None:
    live = LiveFleet(js)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.run)
        await live.complete.wait()
        page.show(source.take(await live.view()))
        nursery.start_soon(
            serve, port.listener, "reactor.ui.fleet_application", page, lambda words: notice(words, None)
        )
        click.echo(f"the fleet page is at {page.access.url}")
        while True:
            await trio.sleep(_FRAME)
            await live.changed.wait(10 * _FRAME)
            page.show(source.take(await live.view()))
