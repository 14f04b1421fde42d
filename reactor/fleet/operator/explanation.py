"""Explains why a host has its release, and not another."""

from __future__ import annotations

from reactor.fleet.documents import DocumentError, to_time_text
from reactor.fleet.operator.known_hosts import FleetView, KnownHost
from reactor.fleet.operator.secrets import lacking
from reactor.fleet.release.pin import Pin
from reactor.fleet.rollout.desired_release import HostOverride, desired_release
from reactor.fleet.rollout.state import ChannelState
from reactor.fleet.summary import ChannelReport
from reactor.number_format import counted

TWIN = "two machines report under this name: expel it with --rekey, and let each join with a name of its own"


def explained(fleet: FleetView, host: KnownHost) -> list[str]:
    """Return sentences for people, one channel after the other."""
    spec = host.spec
    if spec.expelled is not None:
        return [f"{host.name}: expelled on {to_time_text(spec.expelled)}", *_summary(fleet, host)]
    lines = [f"{host.name}: channels {', '.join(spec.channels) or 'none'}"]
    if spec.groups:
        lines[0] += f"; groups {', '.join(spec.groups)}"
    if spec.hold:
        until = f" until {to_time_text(spec.hold_until)}" if spec.hold_until else ""
        lines.append(f"  held at its release{until}" + (f": {spec.why}" if spec.why else ""))
    lines += [f"  lacks secret {name}" for name in lacking(fleet).get(host.name, ())]
    for channel in spec.channels:
        lines += _channel(fleet, host, channel)
    return lines + _summary(fleet, host)


def _channel(fleet: FleetView, host: KnownHost, channel: str) -> list[str]:
    state, line, report = fleet.channels.get(channel), fleet.line(host, channel), host.report(channel)
    if state is None:
        return [f"  {channel}: the channel has no release"]
    lines = [f"  {channel}: {line.phase}" + (f": {line.why}" if line.why else "")]
    override = _override(host, channel)
    desired = desired_release(
        state,
        rank=line.rank,
        in_force=report.in_force if report else None,
        now=fleet.now,
        override=override,
    )
    lines.append(
        f"    rank {line.rank} of 10,000 in release {state.serial}, which is {state.phase}, with a wave of {state.wave / 100:g} %"
    )
    lines.append(f"    should have {_named(desired.release, state)}: {desired.why}")
    lines.append(f"    has {_named(report.in_force if report else None, state)}" + _since(report))
    return lines


def _override(host: KnownHost, channel: str) -> HostOverride:
    """The hold and pin of the host. The pin is only shown here; the host itself verifies it."""
    spec, pin = host.spec, None
    if (signed := host.spec.pins.get(channel)) is not None:
        try:
            pin = Pin.from_bytes(signed.data.encode())
        except DocumentError:
            pin = None
    return HostOverride(
        pin=pin.pin if pin else None,
        pin_until=pin.until if pin else None,
        hold=spec.hold,
        hold_until=spec.hold_until,
        why=spec.why if spec.hold else (f"{pin.by} pinned it: {pin.why}" if pin else ""),
    )


def _named(release: str | None, state: ChannelState) -> str:
    if release is None:
        return "no release"
    if release == state.release:
        return f"release {state.serial}, {release[:19]}"
    return (
        f"the previous release, {release[:19]}"
        if release == state.previous
        else f"the release {release[:19]}"
    )


def _since(report: ChannelReport | None) -> str:
    return f"; {report.phase} since {to_time_text(report.since)} on its own clock" if report else ""


def _summary(fleet: FleetView, host: KnownHost) -> list[str]:
    summary = host.summary
    if summary is None or host.heard is None:
        return ["  it has never reported"]
    engine = summary.engine
    counts = f"{counted(engine.resources, 'resource')}, {engine.ok} ok, {engine.failed} failed, {engine.blocked} blocked"
    would = f", {engine.would_change} would change" if engine.would_change else ""
    lines = [
        f"  reported {fleet.now - host.heard:.0f} s ago{host.differing_version}: {counts}, {engine.changed} changed{would}"
    ]
    lines += [f"    {ref}: {why}" for ref, why in engine.worst]
    lines += [
        f"    health check {name}: {status}"
        for name, status in sorted(engine.checks.items())
        if status != "ok"
    ]
    if summary.twin:
        lines.append(f"    {TWIN}")
    if summary.certificate:
        lines.append(f"    {summary.certificate}")
    if summary.lost:
        lines.append(f"    {summary.lost} events were lost before they were sent")
    return lines
