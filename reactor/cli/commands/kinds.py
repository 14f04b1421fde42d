"""``reactor kinds``: lists the kinds of resources, or describes one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.completion_candidates import complete_kind
from reactor.cli.options.common import Format, format_option
from reactor.cli.values import json_text

if TYPE_CHECKING:
    from reactor.ensure.description import Description
    from reactor.ensure.properties import Property

Obstacles = dict[str, str | None]
"""Provider -> why it can't work on this host; None if it can."""

_WIDTH = 98
"""Columns; longer lines are hard to read."""


@click.command(short_help="List the kinds of resources, or describe one.")
@click.argument("kind", required=False, shell_complete=complete_kind)
@format_option("one JSON document")
def kinds(kind: str | None, form: Format) -> None:
    """List the installed kinds of resources, or describe KIND.

    The description has the properties with type, default and meaning, what is watched for drift, the automatic
    dependencies, whether changes can be undone, and the providers, with whether they work on this host. The properties
    that every kind has are last.

    Exit codes: 0 done; 1 the kind can't be loaded; 2 bad usage.

    \b
    Examples:
      reactor kinds
      reactor kinds file
      reactor kinds service --format json
    """
    from reactor.cli.commands.ensure_kind import found_kind
    from reactor.ensure.description import describe, summary_of
    from reactor.resource.registry import kind_names

    if kind is not None:
        model = found_kind(kind)
        obstacles = {name: model.unavailable_reason(name) for name in model.providers}
        show = _document if form == "json" else _page
        click.echo(show(describe(model), obstacles))
        return
    every = {name: summary_of(found_kind(name)) for name in kind_names()}
    if form == "json":
        click.echo(json_text(every))
    else:
        width = max(map(len, every), default=0)
        for name, words in every.items():
            line = f"{name:{width}}  {words}"
            # In a pipe, each kind is one line, so that grep can find it.
            click.echo("\n".join(folded(line, width + 2)) if sys.stdout.isatty() else line)


def _document(found: Description, obstacles: Obstacles) -> str:
    own = {each.name: _property(each) for each in found.own}
    return json_text(
        {
            "kind": found.kind,
            "meaning": found.meaning,
            "ensure": own.pop("ensure"),
            "properties": own,
            "common": [each.name for each in found.common],
            "watches": found.watches,
            "goes_after": found.goes_after,
            "reverse": found.reversal,
            "providers": {
                name: {"works": fault is None, "obstacle": fault} for name, fault in obstacles.items()
            },
            "example": found.example,
        }
    )


def _property(found: Property) -> dict[str, Any]:
    return {
        "type": found.type,
        "required": found.required,
        "default": found.default,
        "meaning": found.meaning,
        "other_names": [*found.names[1:]],
    }


def _page(found: Description, obstacles: Obstacles) -> str:
    return "\n".join(_lines(found, obstacles))


def _lines(found: Description, obstacles: Obstacles) -> Iterator[str]:
    yield from folded(f"{found.kind}: {found.meaning}")
    yield ""
    yield "Properties:"
    for each in found.own:
        yield from _property_lines(each)
    yield from folded(f"  and those of every kind: {', '.join(each.name for each in found.common)}", 6)
    yield ""
    yield from folded(f"Watches: {found.watches}", 2)
    yield from folded(f"Depends on: {found.goes_after or 'nothing automatically'}", 2)
    yield from folded(f"Undo, with meta: {{reverse: true}}: {found.reversal or 'not possible'}", 2)
    for name, unavailable_reason in obstacles.items():
        yield from folded(f"Provider {name}: {unavailable_reason or 'works here'}", 2)
    yield ""
    yield f"Example: {found.example}"


def _property_lines(found: Property) -> Iterator[str]:
    from reactor.ensure.description import default_of

    default = default_of(found) and f"default {default_of(found)}"
    note = "required" if found.required else default
    yield from folded(f"  {found.name}  ({', '.join(filter(None, (found.type, note)))})", 6)
    yield from folded(f"      {found.meaning}", 6)


def folded(text: str, hang: int = 0) -> list[str]:
    """The text wrapped to the terminal. All lines but the first are indented by ``hang`` spaces."""
    import shutil
    import textwrap

    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)
    return textwrap.wrap(
        text, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )
