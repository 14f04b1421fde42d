"""The work of ``reactor registration``: each command connects, does one thing, and prints what CCM prints."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import click
import trio
from pydantic import ValidationError

from reactor.cli.messages import fail_for
from reactor.fleet.link.connection import connected
from reactor.fleet.link.context import read_context
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.registry.entry import HTML, NEVER, Entry, entry_of_subject, filter_subject, go_duration
from reactor.fleet.registry.stream import entry_of, gone_reason, look_up, make_stream, publish, remove
from reactor.resource.common_properties import Registration
from reactor.resource.escaping import escaped
from reactor.resource.property_types import parse_duration

T = TypeVar("T")

CONNECTING = 3.0


def make_stream_of(context: str, stream: str, replicas: int, max_age: str) -> None:
    """Make the stream, and show it. Ends the command if that fails."""
    try:
        seconds = parse_duration(max_age)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--max-age'") from error
    config = _on(context, lambda js: make_stream(js, stream, replicas=replicas, max_age=seconds))
    subjects = config["subjects"] if isinstance(config["subjects"], list) else []
    shown = f"[{' '.join(map(str, subjects))}]"
    _log("INFO", "Registration stream ready", stream=stream, subjects=shown, replicas=config["num_replicas"])


def create_entry(context: str, stream: str, fields: Mapping[str, Any], annotations: Sequence[str]) -> None:
    """Publish an entry, and show it. Ends the command if that fails."""
    named = dict(_setting(each) for each in annotations)
    entry = _entry({**fields, "annotations": named})
    _on(context, lambda js: publish(js, entry, stream))
    _log("INFO", "Registration entry created", **_identity(entry), priority=entry.priority)


def remove_entry(context: str, stream: str, fields: Mapping[str, Any]) -> None:
    """Remove an entry, and show it. Ends the command if that fails."""
    entry = _entry({**fields, "priority": 1})
    _on(context, lambda js: remove(js, entry, stream))
    _log("INFO", "Registration entry removed", **_identity(entry))


def show_entries(context: str, stream: str, pattern: Sequence[str], form: str) -> None:
    """Show the entries that match. Ends the command if that fails."""
    _check(pattern)
    entries = _on(context, lambda js: look_up(js, pattern, stream))
    records = [each.record for each in entries]
    if form == "json":
        click.echo(json.dumps(records, indent=2, ensure_ascii=False).translate(HTML))
    elif form == "yaml":
        from reactor.cli.yaml_text import yaml_text

        click.echo(yaml_text(records))
    elif entries:
        click.echo("".join(_paragraphs(entries)), nl=False)
    else:
        click.echo("No results found")


def watch_entries(context: str, stream: str, pattern: Sequence[str], *, as_json: bool) -> None:
    """Show the entries that match, and their changes, until ^C."""
    _check(pattern)

    async def follow(js: JetStream) -> None:
        await js.stream_info(stream)
        async with js.reading(stream, [filter_subject(*pattern)]) as messages:
            async for stored in messages:
                if stored is None:
                    continue
                reason = gone_reason(stored)
                entry = entry_of_subject(stored.subject) if reason else entry_of(stored)
                if entry is not None:
                    _show_change(entry, reason, as_json=as_json)

    _on(context, follow)


def _show_change(entry: Entry, reason: str, *, as_json: bool) -> None:
    if as_json:
        record = {"action": "remove" if reason else "register", "entry": entry.record, "reason": reason}
        click.echo(json.dumps(record, ensure_ascii=False))
        return
    named = {name: value for name, value in _identity(entry).items() if name != "port"}
    if reason:
        _log("WARN", "Removed entry", **named, reason=reason)
    else:
        more = {} if entry.ttl is None else {"ttl": entry.ttl}
        _log("INFO", "Updated entry", **named, port=entry.port, **more)


def _paragraphs(entries: Sequence[Entry]) -> list[str]:
    """The entries as CCM shows them: by cluster, protocol and service."""
    found: list[str] = []
    before = ("", "")
    for each in sorted(entries, key=lambda each: (each.cluster, each.protocol, each.service)):
        if before != (before := (each.cluster, each.service)):
            found.append(f"Service: {escaped(each.service)} @ {escaped(each.cluster)}\n\n")
        shown = {
            "Cluster": each.cluster,
            "Protocol": each.protocol,
            "Service": each.service,
            "IP": each.address,
            "Port": "<nil>" if each.port is None else each.port,
            "Priority": each.priority,
        }
        found += [f"{name:>14}: {escaped(str(value))}\n" for name, value in shown.items()]
        if each.annotations:
            found.append("   Annotations:\n")
            for name, value in sorted(each.annotations.items()):
                found.append(f"{' ' * 16}{escaped(name)}: {escaped(value)}\n")
        found.append("\n")
    return found


def _identity(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("cluster", "service", "protocol", "address", "port")}


def _entry(fields: Mapping[str, Any]) -> Entry:
    """The entry with these fields. Raises UsageError."""
    try:
        found = Registration.model_validate(dict(fields))
    except ValidationError as error:
        [first, *_] = error.errors()
        name = ".".join(map(str, first["loc"]))
        raise click.UsageError(f"registration is invalid: {name}: {first['msg']}") from error
    ttl = found.ttl if found.ttl is None or found.ttl == NEVER else go_duration(float(found.ttl))
    return Entry(
        found.cluster, found.service, found.protocol, found.address, found.port, found.priority, found.annotations, ttl
    )  # fmt: skip


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.UsageError(f"{text!r} is not KEY=VALUE")
    return key, value


def _check(pattern: Sequence[str]) -> None:
    try:
        filter_subject(*pattern)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _log(level: str, message: str, **fields: Any) -> None:
    """Print a line as CCM's log for users."""
    named = " ".join(f"{name}={escaped(str(value))}" for name, value in fields.items())
    click.echo(f"{time.strftime('%H:%M:%S')} {level:5} {message} {named}")


def _on(context: str, work: Callable[[JetStream], Awaitable[T]]) -> T:
    async def connect() -> T:
        async with connected(read_context(context), seconds=CONNECTING) as connection:
            return await work(JetStream(connection))

    try:
        return trio.run(connect)
    except LinkError as error:
        fail_for(error, 1)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(130) from None
