"""The work of ``reactor fleet slots``."""

from __future__ import annotations

import json
import time

import click

from reactor.cli.options.formats import Format
from reactor.cli.running.fleet_session import within
from reactor.console.number_format import seconds
from reactor.fleet.operator.slots import held_slots
from reactor.resource.escaping import escaped


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
        click.echo(f"{place}  {each.host}  {escaped(each.ref)}  renewed {age} ago")
    if not found:
        click.echo("no slot is held")
