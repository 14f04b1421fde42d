"""The work of the commands of ``reactor fleet`` that show keys, slots, shared values and the state of the servers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict

import click
import trio

from reactor.cli.messages import fail_for
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import within
from reactor.errors import ReactorError
from reactor.fleet.documents import is_host_id, to_time_text
from reactor.fleet.operator.doctor.check import Check
from reactor.fleet.operator.doctor.examination import examine
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.public_keys import HostKeys, keys_of_fleet, keys_of_hosts
from reactor.fleet.operator.server_config import load_operator_directory
from reactor.fleet.operator.shared_state import held_slots, shared_values
from reactor.number_format import seconds
from reactor.resource.escaping import escaped


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
    found = within(home, lambda js: held_slots(js, name))
    if form == "json":
        click.echo(json.dumps([each._asdict() for each in found]))
        return
    now = time.time()
    for each in found:
        place = f"{each.name}.{each.number}" + (f" of group {each.group}" if each.group else "")
        age = seconds(max(0.0, now - each.renewed))
        click.echo(f"{escaped(place)}  {each.host}  {escaped(each.ref)}  renewed {age} ago")
    if not found:
        click.echo("no slot is held")


_LONGEST = 100


def show_shared(home: str, name: str | None, form: Format) -> None:
    """Print a line, or an object, for each value that a host shares."""
    found = within(home, lambda js: shared_values(js, name))
    if form == "json":
        click.echo(json.dumps([each._asdict() for each in found]))
        return
    now = time.time()
    for each in found:
        text = escaped(json.dumps(each.value, ensure_ascii=False))
        text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        age = seconds(max(0.0, now - each.time))
        click.echo(f"{escaped(each.name)}  {escaped(each.host)}  {text}  shared {age} ago")
    if not found:
        click.echo("no value is shared")
