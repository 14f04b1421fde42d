"""``reactor kinds``: what a manifest, or ``reactor ensure``, can manage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import click

from reactor.cli.completing import complete_kind

if TYPE_CHECKING:
    from reactor.ensure.description import Description
    from reactor.ensure.properties import Property

Obstacles = dict[str, str | None]
"""Why each provider can't work on this host; None for one that can."""

_WIDTH = 98


@click.command(short_help="What can be managed, with all properties.")
@click.argument("kind", required=False, shell_complete=complete_kind)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Lines for people, or one JSON document.",
)  # fmt: skip
def kinds(kind: str | None, form: Literal["text", "json"]) -> None:
    """List the kinds of resources that are installed; or tell all about KIND.

    That is: its properties with their types, defaults and meaning, what reactor watches to notice drift, what goes
    before it by itself, whether it can be undone, and its providers with whether they work on this host. Properties
    that every kind has come last.

    Exit codes: 0 done; 1 the kind can't be loaded; 2 bad usage.

    \b
    Examples:
      reactor kinds
      reactor kinds file
      reactor kinds service --format json
    """
    from reactor.cli.ensure_kind import found_kind
    from reactor.ensure.description import describe, summary_of
    from reactor.resource.registry import kind_names

    if kind is not None:
        model = found_kind(kind)
        obstacles = {name: model.obstacle(name) for name in model.providers}
        show = _document if form == "json" else _page
        click.echo(show(describe(model), obstacles))
        return
    every = {name: summary_of(found_kind(name)) for name in kind_names()}
    if form == "json":
        click.echo(_json(every))
    else:
        width = max(map(len, every), default=0)
        click.echo("\n".join(f"{name:{width}}  {words}" for name, words in every.items()))


def _document(found: Description, obstacles: Obstacles) -> str:
    own = {each.name: _property(each) for each in found.own}
    return _json(
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


def _json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _page(found: Description, obstacles: Obstacles) -> str:
    return "\n".join(_lines(found, obstacles))


def _lines(found: Description, obstacles: Obstacles) -> Iterator[str]:
    yield f"{found.kind}: {found.meaning}"
    yield ""
    yield "Properties:"
    for each in found.own:
        yield from _property_lines(each)
    yield f"  and, as every kind: {', '.join(each.name for each in found.common)}"
    yield ""
    yield f"Watches: {found.watches}"
    yield f"Goes after: {found.goes_after or 'nothing by itself'}"
    yield f"Undone, with meta: {{reverse: true}}: {found.reversal or 'not possible'}"
    for name, obstacle in obstacles.items():
        yield f"Provider {name}: {obstacle or 'works here'}"
    yield ""
    yield f"Example: {found.example}"


def _property_lines(found: Property) -> Iterator[str]:
    import textwrap

    from reactor.ensure.description import default_of

    default = default_of(found) and f"default {default_of(found)}"
    remark = "required" if found.required else default
    yield f"  {found.name}  ({', '.join(filter(None, (found.type, remark)))})"
    yield from textwrap.wrap(found.meaning, _WIDTH, initial_indent="      ", subsequent_indent="      ")
