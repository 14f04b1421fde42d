"""The work of the commands of ``reactor fleet`` that show keys, slots, shared values and the state of the servers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import click
import trio

from reactor.cli.messages import fail_for
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import within, within_by_clock
from reactor.errors import ReactorError
from reactor.fleet.documents import is_host_id, to_time_text
from reactor.fleet.operator.doctor.check import Check
from reactor.fleet.operator.doctor.examination import examine
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.public_keys import HostKeys, keys_of_fleet, keys_of_hosts
from reactor.fleet.operator.server_config import load_operator_directory
from reactor.fleet.operator.shared_state import HeldSlot, held_slots, shared_values
from reactor.fleet.shared_value import SharedValue
from reactor.number_format import seconds
from reactor.resource.escaping import escaped

_LONGEST = 100
"""Characters of a shared value that are shown."""


def run_checks(home: str, signers: str, form: Format) -> int:
    """Print a line, or an object, for each check. Returns the exit code."""
    checks = trio.run(examine, os.path.abspath(home), os.path.abspath(signers))
    for each in checks:
        click.echo(json.dumps({"ok": each.ok, **asdict(each)}) if form == "json" else _check_line(each))
    return 0 if all(each.ok for each in checks) else 1


def _check_line(check: Check) -> str:
    """Return one line. Servers wrote parts of it, so control characters in it are escaped."""
    if check.ok:
        return escaped(f"ok     {check.name}" + (f": {check.seen}" if check.seen else ""))
    hint = f"; hint: {check.hint}" if check.hint else ""
    return escaped(f"wrong  {check.name}: {check.problem}{hint}")


def show_keys(home: str, host: str | None, form: Format) -> None:
    """Print the keys of the fleet and of its hosts; of one host alone, if it is given."""
    try:
        keys = load_operator_directory(home).keys
        if host is not None and not is_host_id(host):
            raise RefusedError(f"{host!r} is not the name of a host", "see reactor fleet keys")
    except ReactorError as error:
        fail_for(error, 1)
    hosts = within(home, lambda js: keys_of_hosts(js, keys.cards.public, host))
    fleet = keys_of_fleet(keys) if host is None else {}
    if form == "json":
        click.echo(json.dumps({"fleet": fleet, "hosts": [_fields(each) for each in hosts]}))
        return
    width = max(map(len, fleet), default=0)
    for purpose, key in fleet.items():
        click.echo(f"{purpose:{width}}  {key}")
    for each in hosts:
        for line in _key_lines(each):
            click.echo(line)


def _fields(keys: HostKeys) -> dict[str, object]:
    issued = None if keys.issued is None else to_time_text(keys.issued)
    return {**keys._asdict(), "issued": issued}


def _key_lines(keys: HostKeys) -> Iterator[str]:
    if keys.key is not None and keys.issued is not None:
        age = keys.age or "no age key"
        yield f"{keys.host}  {keys.key}  {age}  card of {to_time_text(keys.issued)}"
    else:
        yield f"{keys.host}  {'expelled' if keys.expelled else escaped(keys.problem)}"
    for key in keys.revoked:
        yield f"{keys.host}  {escaped(key)}  revoked"


def show_slots(home: str, name: str | None, form: Format) -> None:
    """Print a line, or an object, for each slot that is held."""
    found, now = within_by_clock(home, lambda js: held_slots(js, name))
    _print_each(form, found, [_slot_line(each, now) for each in found] or ["no slot is held"])


def show_shared(home: str, name: str | None, form: Format) -> None:
    """Print a line, or an object, for each value that a host shares."""
    found, now = within_by_clock(home, lambda js: shared_values(js, name))
    _print_each(form, found, [_shared_line(each, now) for each in found] or ["no value is shared"])


def _print_each(form: Format, found: Sequence[HeldSlot | SharedValue], lines: list[str]) -> None:
    click.echo(json.dumps([each._asdict() for each in found]) if form == "json" else "\n".join(lines))


def _slot_line(slot: HeldSlot, now: float) -> str:
    place = f"{slot.name}.{slot.number}" + (f" of group {slot.group}" if slot.group else "")
    age = seconds(max(0.0, now - slot.renewed))
    return f"{escaped(place)}  {slot.host}  {escaped(slot.ref)}  renewed {age} ago"


def _shared_line(shared: SharedValue, now: float) -> str:
    text = escaped(json.dumps(shared.value, ensure_ascii=False))
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    age = seconds(max(0.0, now - shared.time))
    return f"{escaped(shared.name)}  {escaped(shared.host)}  {text}  shared {age} ago"
