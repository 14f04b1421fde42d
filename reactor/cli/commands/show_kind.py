"""``reactor show KIND``: the command for one kind."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click
import trio

from reactor.cli import exitcodes
from reactor.cli.commands.ensure_kind import found_kind
from reactor.cli.messages import fail, show_diagnostics
from reactor.cli.options.common import ValueFormat, value_format_option
from reactor.cli.options.inputs import single_resource_options
from reactor.cli.options.kind_options import KindOptions
from reactor.cli.values import show as show_values
from reactor.ensure.entry import load_entry
from reactor.manifest.source import Problems
from reactor.resource.base import Resource
from reactor.resource.diagnostic import ManifestError
from reactor.resource.plan import ResourceError
from reactor.resource.redaction import redacted

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs


def kind_command(kind: str) -> click.Command:
    """The command ``reactor show KIND``. Ends the command if the kind can't be loaded."""
    model = found_kind(kind)
    text = f"Show the current state of one {kind}. Changes nothing.\n\n\b\nExample:\n  reactor show {kind} {_example(model)}"

    @click.command(kind, help=text)
    @single_resource_options
    @value_format_option
    def command(form: ValueFormat | None, inputs: Callable[[], Inputs], **given: Any) -> None:
        resource = _bound(options, given, inputs)
        try:
            state = trio.run(_state, resource)
        except (ResourceError, OSError) as error:
            fail(getattr(error, "code", "R0502"), str(error), getattr(error, "hint", None), 1)
        show_values(redacted(state), form)

    options = KindOptions(model, beside=command.params)
    command.params = [*options.parameters(), *command.params]
    return command


def _example(model: type[Resource]) -> str:
    """The arguments of the example of ``reactor ensure``, with the required options only."""
    name, *more = shlex.split(model.example or "NAME")
    required = {field for field, info in model.model_fields.items() if info.is_required()}
    needed = {f"--{field}" for field in required | model.needed_to_show}
    given = (f" {option} {shlex.quote(value)}" for option, value in pairwise(more) if option in needed)
    return shlex.quote(name) + "".join(given)


def _bound(options: KindOptions, given: dict[str, Any], inputs: Callable[[], Inputs]) -> Resource:
    """The resource to show. Ends the command if the options are invalid.

    The desired state does not matter here, so every value of ``ensure`` is tried: some values need fewer properties.
    """
    kind, known = options.model.kind, inputs()
    failures = []
    for ensure in options.ensures(given["ensure"]):
        line = options.command_line(("reactor", "show", kind), {**given, "ensure": ensure})
        try:
            return load_entry(Problems(line.source), kind, line.body, known).resource
        except ManifestError as error:
            failures.append((error.diagnostics, line.source))
    diagnostics, source = failures[0]
    show_diagnostics(diagnostics, as_json=False, texts={source.file: source.text})
    raise click.exceptions.Exit(exitcodes.BAD_USAGE)


async def _state(resource: Resource) -> dict[str, Any]:
    return {"name": resource.name, **await resource.describe()}
