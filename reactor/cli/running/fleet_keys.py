"""The work of ``reactor fleet keys``."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from reactor.cli.messages import fail_for
from reactor.cli.options.formats import Format
from reactor.cli.running.fleet_session import within
from reactor.errors import ReactorError
from reactor.fleet.documents import is_host_id, to_time_text
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.public_keys import HostKeys, keys_of_fleet, keys_of_hosts
from reactor.fleet.operator.server_config import load_operator_directory
from reactor.resource.escaping import escaped


def show_keys(home: str, host: str | None, form: Format) -> None:
    """Print the keys of the fleet and of its hosts; of one host alone, if it is given."""
    try:
        keys = load_operator_directory(home).keys
        if host is not None and not is_host_id(host):
            raise RefusedError(f"{host!r} is no name of a host", "see reactor fleet keys")
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
        for line in _lines(each):
            click.echo(line)


def _fields(keys: HostKeys) -> dict[str, object]:
    issued = None if keys.issued is None else to_time_text(keys.issued)
    return {**keys._asdict(), "issued": issued}


def _lines(keys: HostKeys) -> Iterator[str]:
    if keys.key is not None and keys.issued is not None:
        age = keys.age or "no age key"
        yield f"{keys.host}  {keys.key}  {age}  card of {to_time_text(keys.issued)}"
    else:
        yield f"{keys.host}  {'expelled' if keys.expelled else escaped(keys.problem)}"
    for key in keys.revoked:
        yield f"{keys.host}  {escaped(key)}  revoked"
