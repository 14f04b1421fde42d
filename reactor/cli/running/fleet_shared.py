"""The work of ``reactor fleet shared``."""

from __future__ import annotations

import json
import time

import click

from reactor.cli.options.formats import Format
from reactor.cli.running.fleet_session import within
from reactor.console.number_format import seconds
from reactor.fleet.operator.shared import shared_values
from reactor.resource.escaping import escaped

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
