"""``reactor ensure api pipe``: applies one resource for a program; the request is on stdin, the answer on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.command_groups import AliasGroup
from reactor.cli.messages import warn
from reactor.cli.options.common import dry_run_option
from reactor.cli.options.inputs import single_resource_options
from reactor.cli.options.state_dir import state_dir_option

if TYPE_CHECKING:
    from reactor.engine.events import Event
    from reactor.ensure.entry import Entry
    from reactor.ensure.protocol import Request, RequestResult
    from reactor.ensure.sessions import Session
    from reactor.manifest.inputs import Inputs


@click.group(cls=AliasGroup, others={"piped": "pipe"})
def api() -> None:
    """Apply one resource for a program, with a request in JSON.

    \b
    Example:
      reactor ensure api pipe < request.json
    """


@api.command()
@dry_run_option("--noop", help="Dry run: show what would be done, and change nothing.")
@click.option("--yaml", "as_yaml", is_flag=True, help="Write the answer in YAML.")
@click.option(
    "--session",
    "directory",
    metavar="DIR",
    help="Look up required resources in this session.  [default: $REACTOR_SESSION]",
)
@single_resource_options
@state_dir_option
def pipe(
    noop: bool, as_yaml: bool, directory: str | None, state_dir: str | None, inputs: Callable[[], Inputs]
) -> None:
    """Read one request in JSON or YAML from stdin, apply the resource, and write the answer to stdout.

    The protocol is that of CCM: io.choria.ccm.v1.resource.ensure.request and .response. The answer has the state of
    the resource, or an error. An invalid request is also answered with an error. The session is read, but not changed.

    Exit codes: 0 an answer was written; 2 bad usage; 130 or 143 ended by a signal.

    \b
    A request:
      echo '{"protocol": "io.choria.ccm.v1.resource.ensure.request",
       "type": "exec", "properties": {"name": "true"}}' | reactor ensure api pipe
    """
    from reactor.cli.running.single_resource import session_of
    from reactor.ensure.protocol import RequestError, parse_request, response

    session = session_of(directory)
    try:
        request = parse_request(sys.stdin.buffer.read().decode())
        answer = _answer(request, inputs, session, state_dir, noop=noop)
    except UnicodeDecodeError:
        answer = response(error="the request is not in UTF-8")
    except RequestError as error:
        answer = response(error=str(error))
    click.echo(_text(answer, as_yaml=as_yaml), nl=False)


def _answer(
    request: Request,
    inputs: Callable[[], Inputs],
    session: Session | None,
    state_dir: str | None,
    *,
    noop: bool,
) -> dict[str, Any]:
    from reactor.cli.running.single_resource import blocked, reporting_session_errors, session_prerequisites
    from reactor.cli.running.state import refuse_own_state
    from reactor.ensure.entry import in_one_line, load_entry
    from reactor.ensure.protocol import RequestResult, response, state_of
    from reactor.ensure.sessions import UnknownNameError
    from reactor.journal.state_directory import locate
    from reactor.resource.declared import Form, declare
    from reactor.resource.diagnostic import ManifestError
    from reactor.resource.registry import kind_names

    if request.kind not in kind_names():
        return response(error=f"invalid resource: unknown resource type {request.kind}")
    location = locate(state_dir)
    try:
        entry = load_entry(request.problems, request.kind, request.body, inputs())
        declared = entry.resource.declared
        declare(entry.resource, declared._replace(form=Form(is_ccm=True)))
        refuse_own_state(entry.program.graph.resources.values(), location)
        with reporting_session_errors():
            prerequisites = session_prerequisites(entry, session, noop=noop)
    except ManifestError as error:
        return response(error=in_one_line(error))
    except UnknownNameError as error:
        return response(error=f"{error} ({error.hint})")
    if prerequisites.culprits:
        ending = RequestResult(blocked(entry, prerequisites.culprits, noop=noop), None, None)
    else:
        ending = _attempt(entry, location, refresh=prerequisites.refresh, noop=noop)
    return response(state=state_of(entry.resource, ending))


def _attempt(entry: Entry, location: Any, *, refresh: bool, noop: bool) -> RequestResult:
    """Apply the resource. If a signal interrupts that, the command ends without an answer."""
    from reactor.cli import exitcodes
    from reactor.cli.running.engine_run import run_silently
    from reactor.cli.running.single_resource import backups_of, ensured
    from reactor.engine.events import Checked
    from reactor.engine.options import RunOptions
    from reactor.ensure.protocol import RequestResult
    from reactor.resource.backup_store import state_directory_for

    events: list[Event] = []
    ref = entry.resource.ref
    options = RunOptions(noop=noop, pending_refreshes=frozenset((ref,)) if refresh else frozenset())
    backups = None if noop else backups_of(location)
    with state_directory_for(location.path if location else None):
        _, interruption = run_silently(entry.program.graph, options, events.append, warn, backups)
    short = ensured(entry, events, noop=noop)
    if short is None or interruption.cut_short:
        raise click.exceptions.Exit(exitcodes.signal_code(interruption.number))
    check = next((each for each in reversed(events) if isinstance(each, Checked) and each.ref == ref), None)
    return RequestResult(short, check, _status(entry) if check and check.error is None else None)


def _status(entry: Entry) -> Any:
    """The current state of the resource; None if it can't be read."""
    import trio

    from reactor.resource.plan import ResourceError

    try:
        return trio.run(entry.resource.describe)
    except (ResourceError, OSError):
        return None


def _text(answer: dict[str, Any], *, as_yaml: bool) -> str:
    text = json.dumps(answer, indent=2, ensure_ascii=False) + "\n"
    if not as_yaml:
        return text
    from reactor.cli.yaml_text import yaml_text

    return yaml_text(json.loads(text))
