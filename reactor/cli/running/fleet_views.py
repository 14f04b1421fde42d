"""The work of the commands that show a fleet: channels, hosts, failures, and explanations."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
import trio

from reactor.cli.messages import fail_for, notice
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import chosen_by, warn_of_no_leader, within, within_until_signal
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.status import Status
from reactor.fleet.operator.doctor.judgements import certificate_check
from reactor.fleet.operator.explanation import TWIN, explained
from reactor.fleet.operator.failures import failures
from reactor.fleet.operator.keyring import KeyringError
from reactor.fleet.operator.known_hosts import FleetView, HostLine, KnownHost, read_fleet
from reactor.fleet.operator.live_fleet import LiveFleet
from reactor.fleet.operator.overview import Overview, overviews
from reactor.fleet.operator.where import Predicate
from reactor.fleet.rollout.commands import RolloutError
from reactor.fleet.rollout.state import Phase
from reactor.number_format import counted
from reactor.resource.escaping import escaped

_MOST_SHOWN = 200
"""The largest number of hosts of a channel that `status` shows; others are only counted."""
_EXAMPLES = 5
_TAKEN_BACK = (Phase.REVERTING, Phase.REVERTED)
_FRAME = 1.0
"""Seconds between two pictures of --watch."""
_CLEAR = "\x1b[H\x1b[2J"

_Chosen = list[tuple[KnownHost, list[HostLine]]]


def _tell_certificates(fleet: FleetView, status: Status) -> None:
    """Say of which other servers the certificates expire soon, as the hosts report."""
    known = {status.certificate_problem(fleet.now)}
    for host in fleet.members():
        problem = host.summary.certificate if host.summary else ""
        if problem and problem not in known and len(known) <= _MOST_SHOWN:
            known.add(problem)
            notice(f"{host.name} reports: {problem}", "renew it, and reload the server")


def _fleet(home: str, *channels: str) -> FleetView:
    """Read the fleet.

    Says if it may have changed since, which hosts the servers have forgotten, and whether the certificate of a server
    expires soon: of the one that answers, or of one to which a host is connected.
    """

    async def read(js: JetStream) -> tuple[FleetView, Status]:
        return await read_fleet(js, channels), js.connection.status

    fleet, status = within(home, read)
    if status.certificate_ends is not None:
        check = certificate_check(f"certificate of {status.server}", status.certificate_ends)
        if not check.ok:
            notice(f"{check.name}: {check.problem}", check.hint)
    _tell_certificates(fleet, status)
    if fleet.unknown:
        notice(
            _unknown_words(fleet),
            "let each join again with a new token: reactor fleet invite, and reactor fleet join on the host",
        )
    if fleet.may_be_old:
        warn_of_no_leader()
    return fleet


def _unknown_words(fleet: FleetView) -> str:
    return (
        f"the servers do not know these hosts that report, and no rollout counts them: {_some(fleet.unknown)}"
    )


def show_status(home: str, form: Format, where: str, *, watch: bool) -> None:
    """Show all channels with the hosts that are not well."""
    is_chosen = chosen_by(where)
    if watch:

        def draw(fleet: FleetView) -> list[str]:
            lines = _status_lines(overviews(fleet, is_chosen))
            return [*lines, _unknown_words(fleet)] if fleet.unknown else lines

        _watch(home, draw)
        return
    found = overviews(_fleet(home), is_chosen)
    if form == "json":
        for each in found:
            click.echo(json.dumps(each.to_fields()))
        return
    click.echo("\n".join(_status_lines(found)))


def _status_lines(found: list[Overview]) -> list[str]:
    lines = [] if found else ["no channel has a release"]
    for each in found:
        lines += _head(each)
        unmet = [condition.words for condition in each.gate if not condition.met]
        lines += [f"  waits: {escaped(unmet[0])}"] if unmet else []
        unwell = each.unwell()
        lines += map(_host_line, unwell[:_MOST_SHOWN])
        lacks = [
            f"  {host}: lacks secret {escaped(name)}" for host, names in each.lacks.items() for name in names
        ]
        lines += lacks[:_MOST_SHOWN]
        lines += [f"  {host}: {TWIN}" for host in each.twins[:_MOST_SHOWN]]
        if len(unwell) > _MOST_SHOWN:
            lines.append(
                f"  and {len(unwell) - _MOST_SHOWN} more hosts: reactor fleet hosts -l 'channel:{each.state.channel} and not well'"
            )
    return lines


def _head(each: Overview) -> list[str]:
    why, by = each.state.why, each.state.by
    words = f"{why} ({by})" if why else f"by {by}"
    return [each.headline(), *([f"  {escaped(words)}"] if why or by else [])]


def _host_line(host: HostLine) -> str:
    place = "in the wave" if host.in_wave else "not in the wave"
    why = f": {escaped(host.why)}" if host.why else ""
    return f"  {host.host}: {host.phase}, rank {host.rank}, {place}{why}"


def _watch(home: str, draw: Callable[[FleetView], list[str]]) -> None:
    """Draw after each change, until it is stopped."""
    is_terminal = sys.stdout.isatty()

    async def follow(js: JetStream) -> None:
        live = LiveFleet(js)
        shown: list[str] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(live.run)
            await live.complete.wait()
            while True:
                lines = draw(await live.view())
                if lines != shown:
                    shown = lines
                    click.echo((_CLEAR if is_terminal else "") + "\n".join(lines))
                await trio.sleep(_FRAME)
                await live.changed.wait(10 * _FRAME)

    within_until_signal(home, follow)


def show_rollout(home: str, channel: str, form: Format) -> None:
    """Show one channel with its gate and all its hosts."""
    found = overviews(_fleet(home, channel))
    if not found:
        fail_for(RolloutError(f"the channel {channel} has no release", "see reactor fleet status"), 1)
    (each,) = found
    if form == "json":
        click.echo(json.dumps(each.to_fields()))
        return
    lines = _head(each)
    for condition in each.gate:
        lines.append(f"  {'ok' if condition.met else 'waits'}  {condition.name}: {escaped(condition.words)}")
    click.echo("\n".join([*lines, *map(_host_line, each.hosts)]))


def show_hosts(home: str, where: str, form: str) -> None:
    """Show a line for each host."""
    is_chosen = chosen_by(where)
    fleet = _fleet(home)
    chosen = _chosen(fleet, is_chosen)
    _FORMS[form](fleet, chosen)


def _chosen(fleet: FleetView, is_chosen: Predicate) -> _Chosen:
    found = []
    for _, host in sorted(fleet.hosts.items()):
        lines = fleet.lines_of(host)
        if any(is_chosen(host, line) for line in lines):
            found.append((host, lines))
    return found


def _as_text(fleet: FleetView, chosen: _Chosen) -> None:
    rows = []
    for host, lines in chosen:
        channels = ", ".join(f"{line.channel} {line.serial or '-'} {line.phase}" for line in lines)
        ago = f"{fleet.now - host.heard:.0f} s ago" if host.heard is not None else "never"
        why = "; ".join(escaped(line.why) for line in lines if line.why)
        rows.append((host.name, channels, ",".join(host.spec.groups) or "-", ago, why))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for *cells, why in rows:
        text = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        click.echo(f"{text}  {why}".rstrip())


def _as_json(_fleet: FleetView, chosen: _Chosen) -> None:
    for host, lines in chosen:
        click.echo(json.dumps(_fields(host, lines)))


def _fields(host: KnownHost, lines: Iterable[HostLine]) -> dict[str, Any]:
    summary, spec = host.summary, host.spec
    engine = summary.engine if summary else None
    return {
        "host": host.name,
        "groups": list(spec.groups),
        "channels": {
            line.channel: {
                "phase": line.phase,
                "serial": line.serial,
                "rank": line.rank,
                "in_wave": line.in_wave,
                "why": line.why,
            }
            for line in lines
        },
        "hold": spec.hold,
        "pins": sorted(spec.pins),
        "heard": host.heard,
        "reactor": summary.reactor if summary else None,
        "facts": dict(summary.facts) if summary else {},
        **(
            {name: getattr(engine, name) for name in ("resources", "ok", "failed", "blocked", "changed")}
            if engine
            else {}
        ),
    }


def _as_csv(_fleet: FleetView, chosen: _Chosen) -> None:
    table = csv.writer(sys.stdout)
    table.writerow(("host", "channel", "phase", "serial", "rank", "in_wave", "groups", "heard", "why"))
    for host, lines in chosen:
        groups = " ".join(host.spec.groups)
        for line in lines:
            row = (line.phase, line.serial, line.rank, line.in_wave, groups, host.heard, _cell(line.why))
            table.writerow((host.name, line.channel, *row))


def _cell(text: str) -> str:
    """Text from a host as a CSV cell, escaped so that no terminal obeys it and no spreadsheet takes it for a formula."""
    text = escaped(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text


def _as_ansible(_fleet: FleetView, chosen: _Chosen) -> None:
    """A dynamic inventory: groups by channel, group and phase."""
    groups: dict[str, list[str]] = {}
    variables = {}
    for host, lines in chosen:
        variables[host.name] = {"fleet": _fields(host, lines)}
        for group in dict.fromkeys(_ansible_groups(host, lines)):
            groups.setdefault(group, []).append(host.name)
    inventory = {name: {"hosts": hosts} for name, hosts in sorted(groups.items())}
    click.echo(json.dumps({"_meta": {"hostvars": variables}, "all": {"hosts": list(variables)}, **inventory}))


def _ansible_groups(host: KnownHost, lines: Iterable[HostLine]) -> Iterable[str]:
    for sort, names in (
        ("group", host.spec.groups),
        ("channel", host.spec.channels),
        ("phase", (line.phase for line in lines)),
    ):
        yield from (re.sub(r"\W", "_", f"{sort}_{name}") for name in names)


_FORMS: dict[str, Callable[[FleetView, _Chosen], None]] = {
    "text": _as_text,
    "json": _as_json,
    "csv": _as_csv,
    "ansible": _as_ansible,
}


def show_failures(home: str, where: str, form: Format) -> None:
    """Show the failures, most frequent first."""
    is_chosen = chosen_by(where)
    fleet = _fleet(home)
    found = failures(fleet, is_chosen)
    for each in found:
        if form == "json":
            click.echo(json.dumps(each.to_fields()))
            continue
        names = _some(each.hosts)
        click.echo(
            f"{counted(len(each.hosts), 'host')}  {escaped(each.resource)}: {escaped(each.message)} ({names})"
        )
    if not found and form == "text":
        click.echo("nothing fails now")
    for state in fleet.channels.values():
        if state.phase in _TAKEN_BACK:
            notice(
                f"release {state.serial} of {state.channel} is {state.phase}: {escaped(state.why)}",
                "hosts that went back do not fail any more; what failed before: reactor fleet events --failed --since 1d",
            )


def _some(hosts: Sequence[str]) -> str:
    """The first names."""
    return ", ".join(hosts[:_EXAMPLES]) + (", ..." if len(hosts) > _EXAMPLES else "")


def show_why(home: str, host: str) -> FleetView:
    """Show why a host has the release it has."""
    fleet = _fleet(home)
    known = fleet.hosts.get(host)
    if known is None:
        fail_for(KeyringError(f"there is no host {host}", "see reactor fleet hosts"), 1)
    for line in explained(fleet, known):
        click.echo(escaped(line))
    return fleet
