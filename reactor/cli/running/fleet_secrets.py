"""The work of ``reactor fleet secret``. No value is ever printed."""

from __future__ import annotations

import json
import sys
from typing import NoReturn

import click

from reactor.cli.messages import fail_for
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import chosen_by, within
from reactor.errors import ReactorError
from reactor.fleet.operator.errors import SecretRefusedError
from reactor.fleet.operator.keyring import Keyring
from reactor.fleet.operator.known_hosts import read_fleet
from reactor.fleet.operator.secret_keys import SecretKeys
from reactor.fleet.operator.secrets import Changed, SecretStore, check_secret, lacking, remove_secret
from reactor.fleet.operator.server_config import load_operator_directory
from reactor.fleet.sealed_secret import MOST_BYTES
from reactor.resource.escaping import escaped
from reactor.resource.redaction import register_secret


def set_from(home: str, name: str, where: str, file: str | None, form: Format) -> None:
    """Read the value and give it to hosts."""
    chosen_by(where)
    try:
        value = _value(file)
        check_secret(name, value)
        register_secret(value.decode())
        keys, age = _keys(home, make=True)
    except (ReactorError, OSError) as error:
        _fail(error)
    _show_change(form, within(home, lambda js: SecretStore(js, keys, age).set(name, where, value)))


def sync_secrets(home: str, form: Format) -> None:
    """Give secrets to the hosts that lack them."""
    try:
        keys, age = _keys(home, make=False)
    except (ReactorError, OSError) as error:
        _fail(error)
    changes = within(home, lambda js: SecretStore(js, keys, age).sync())
    for each in changes:
        _show_change(form, each)
    if not changes and form == "text":
        click.echo("no host lacks a secret")


def remove_from(home: str, name: str, form: Format) -> None:
    """Remove a secret from all hosts."""
    _show_change(form, within(home, lambda js: remove_secret(js, name)))


def show_secrets(home: str, form: Format) -> None:
    """Print a line, or an object, for each secret."""
    fleet = within(home, read_fleet)
    lacks = lacking(fleet)
    for name, where in fleet.secrets.wanted.items():
        hosts = sorted(host for host, names in fleet.secrets.held.items() if name in names)
        missing = sorted(host for host, names in lacks.items() if name in names)
        if form == "json":
            click.echo(json.dumps({"name": name, "for": where, "hosts": hosts, "lacking": missing}))
            continue
        without = f"; lacking: {', '.join(missing)}" if missing else ""
        click.echo(f"{escaped(name)}  for {escaped(where)}: {', '.join(hosts) or 'no host'}{without}")
    if not fleet.secrets.wanted and form == "text":
        click.echo("there is no secret")


def _value(file: str | None) -> bytes:
    """Read at most one byte more than allowed, so that the check finds a value that is too large. Raises OSError."""
    if file is None:
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with open(file, "rb") as content:
        return content.read(MOST_BYTES + 1)


def _keys(home: str, *, make: bool) -> tuple[Keyring, SecretKeys]:
    keys = load_operator_directory(home).keys
    return keys, SecretKeys(home, make=make)


def _show_change(form: Format, changed: Changed) -> None:
    if form == "json":
        click.echo(json.dumps({"name": changed.name, "hosts": changed.hosts, "removed": changed.removed}))
        return
    if changed.hosts:
        click.echo(f"gave the secret {changed.name} to {', '.join(changed.hosts)}")
    if changed.removed:
        click.echo(f"took the secret {changed.name} from {', '.join(changed.removed)}")
    if not changed.hosts and not changed.removed:
        click.echo(f"removed the secret {changed.name}, which no host had")


def _fail(error: ReactorError | OSError) -> NoReturn:
    if isinstance(error, OSError):
        error = SecretRefusedError(f"can't read {error.filename}: {error.strerror}", "check the path")
    fail_for(error, 1)
