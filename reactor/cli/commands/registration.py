"""``reactor registration``: the registry of services in a stream of NATS, with the arguments of CCM."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from reactor.cli.command_groups import AliasGroup
from reactor.cli.options import CONTEXT_VARIABLE, DEFAULT_CONTEXT


@click.group(
    cls=AliasGroup,
    others={"c": "create", "q": "query", "delete": "rm"},
    short_help="Show and change the registry of services.",
)
def registration() -> None:
    """Show and change the registry of services: the entries of 'register_when_stable', in a stream of NATS.

    \b
    Examples:
      reactor registration init
      reactor registration query
    """


def _link_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--context`` and ``--registration``; the command gets ``context`` and ``stream``."""

    @click.option(
        "--context",
        envvar=CONTEXT_VARIABLE,
        default=DEFAULT_CONTEXT,
        metavar="NAME",
        help=f"Connect with this context of the nats CLI.  [default: ${CONTEXT_VARIABLE}, else {DEFAULT_CONTEXT}]",
    )
    @click.option(
        "-R",
        "--registration",
        "stream",
        default="REGISTRATION",
        show_default=True,
        metavar="STREAM",
        help="Use this stream.",
    )
    @wraps(command)
    def with_link(*args: Any, **options: Any) -> Any:
        return command(*args, **options)

    return with_link


def _identity_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that identify an entry; the command gets them as ``identity``."""

    @click.option("--cluster", required=True, metavar="NAME", help="The name of the cluster.")
    @click.option("--service", required=True, metavar="NAME", help="The name of the service.")
    @click.option("--protocol", required=True, metavar="NAME", help="The name of the protocol.")
    @click.option("--address", required=True, metavar="IP", help="The IP address.")
    @click.option("--port", required=True, type=int, metavar="PORT", help="The port.")
    @wraps(command)
    def with_identity(
        *args: Any, cluster: str, service: str, protocol: str, address: str, port: int, **options: Any
    ) -> Any:
        identity = {
            "cluster": cluster,
            "service": service,
            "protocol": protocol,
            "address": address,
            "port": port,
        }
        return command(*args, identity=identity, **options)

    return with_identity


def _pattern_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Four optional arguments; the command gets them as ``pattern``."""

    @click.argument("cluster", default="*")
    @click.argument("protocol", default="*")
    @click.argument("service", default="*")
    @click.argument("address", default="*")
    @wraps(command)
    def with_pattern(
        *args: Any, cluster: str, protocol: str, service: str, address: str, **options: Any
    ) -> Any:
        return command(*args, pattern=(cluster, protocol, service, address), **options)

    return with_pattern


@registration.command(short_help="Make the stream of the registry, or change it.")
@click.option(
    "--replicas",
    type=click.IntRange(1, 5),
    default=1,
    show_default=True,
    help="The number of copies of the stream.",
)
@click.option(
    "--max-age",
    default="1m",
    show_default=True,
    metavar="DURATION",
    help="How long an entry is kept at most if it has no time to live of its own.",
)
@_link_options
def init(replicas: int, max_age: str, context: str, stream: str) -> None:
    """Make the stream of the registry, or change it, as CCM does.

    Exit codes: 0 the stream is ready; 1 no server answers, or it refuses; 2 bad usage.

    \b
    Examples:
      reactor registration init
      reactor registration init --replicas 1 --max-age 5m
    """
    from reactor.cli.running.registration import make_stream_of

    make_stream_of(context, stream, replicas, max_age)


@registration.command(short_help="Register a service.")
@_identity_options
@click.option("--priority", type=int, default=100, show_default=True, help="The priority: 1 to 255.")
@click.option(
    "--ttl", default="30s", show_default=True, metavar="DURATION", help="The time to live, or 'never'."
)
@click.option(
    "-A",
    "--annotation",
    "annotations",
    multiple=True,
    metavar="KEY=VALUE",
    help="Further information. Repeatable.",
)
@_link_options
def create(
    identity: dict[str, Any],
    priority: int,
    ttl: str,
    annotations: tuple[str, ...],
    context: str,
    stream: str,
) -> None:
    """Register a service.

    Exit codes: 0 registered; 1 no server answers, or it refuses; 2 bad usage.

    \b
    Examples:
      reactor registration create --cluster prod --service web --protocol http --address 192.0.2.1 --port 80 --ttl never
    """
    from reactor.cli.running.registration import create_entry

    create_entry(context, stream, {**identity, "priority": priority, "ttl": ttl}, annotations)


@registration.command(short_help="Show the services that are registered.")
@_pattern_arguments
@click.option("--json", "form", flag_value="json", help="Show the entries as JSON.")
@click.option("--yaml", "form", flag_value="yaml", help="Show the entries as YAML.")
@_link_options
def query(pattern: tuple[str, ...], form: str | None, context: str, stream: str) -> None:
    """Show the services that are registered. '*' stands for any CLUSTER, PROTOCOL, SERVICE or ADDRESS.

    Exit codes: 0 shown; 1 no server answers, or there is no such stream; 2 bad usage.

    \b
    Examples:
      reactor registration query
      reactor registration query prod http web --json
    """
    from reactor.cli.running.registration import show_entries

    show_entries(context, stream, pattern, form or "text")


@registration.command(short_help="Remove a service.")
@_identity_options
@click.option("--force", is_flag=True, help="Don't ask.")
@_link_options
def rm(identity: dict[str, Any], force: bool, context: str, stream: str) -> None:
    """Remove a service from the registry.

    Exit codes: 0 removed, or not confirmed; 1 no server answers, or there is no such stream; 2 bad usage.

    \b
    Examples:
      reactor registration rm --cluster prod --service web --protocol http --address 192.0.2.1 --port 80 --force
    """
    from reactor.cli.running.registration import remove_entry

    if not force:
        name = "{cluster}/{service}/{protocol} at {address}:{port}".format(**identity)
        if not click.confirm(f"Remove registration entry {name}?"):
            return
    remove_entry(context, stream, identity)


@registration.command(short_help="Show changes of the registry as they happen.")
@_pattern_arguments
@click.option("--json", "as_json", is_flag=True, help="Show each change as one line of JSON.")
@_link_options
def watch(pattern: tuple[str, ...], as_json: bool, context: str, stream: str) -> None:
    """Show the services that are registered, then each change, until ^C.

    Exit codes: 1 no server answers, or there is no such stream; 2 bad usage; 130 ended by ^C.

    \b
    Examples:
      reactor registration watch
    """
    from reactor.cli.running.registration import watch_entries

    watch_entries(context, stream, pattern, as_json=as_json)
