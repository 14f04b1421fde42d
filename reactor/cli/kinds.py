"""``reactor kinds``: what a manifest, or ``reactor ensure``, can manage."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import click

from reactor.cli.completing import complete_kind

if TYPE_CHECKING:
    from reactor.ensure.properties import Property
    from reactor.resource.base import Resource

_WIDTH = 98


@click.command(short_help="What can be managed, with all properties.")
@click.argument("kind", required=False, shell_complete=complete_kind)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Lines for people, or one JSON document.",
)  # fmt: skip
def kinds(kind: str | None, form: Literal["text", "json"]) -> None:
    """List the kinds of resources that are installed; or tell all about KIND.

    That is: its properties with their types, defaults and meaning, what reactor watches to notice drift, and its
    providers with whether they work on this host. Properties that every kind has come last.

    \b
    Exit codes: 0 done; 1 the kind can't be loaded; 2 bad usage.

    \b
    Examples:
      reactor kinds
      reactor kinds file
      reactor kinds service --format json
    """
    from reactor.cli.ensure_kind import found_kind
    from reactor.resource.registry import kind_names

    if kind is not None:
        told = _told(found_kind(kind))
        click.echo(json.dumps(told, indent=2, ensure_ascii=False) if form == "json" else _page(told))
        return
    every = {name: _first_paragraph(found_kind(name)) for name in kind_names()}
    if form == "json":
        click.echo(json.dumps(every, indent=2, ensure_ascii=False))
    else:
        width = max(map(len, every), default=0)
        click.echo("\n".join(f"{name:{width}}  {words}" for name, words in every.items()))


def _told(model: type[Resource]) -> dict[str, Any]:
    from reactor.ensure.properties import properties_of
    from reactor.resource.base import Resource

    found = properties_of(model)
    obstacles = {name: model.obstacle(name) for name in model.providers}
    return {
        "kind": model.kind,
        "meaning": " ".join((inspect.getdoc(model) or "").replace("``", "`").split()),
        "properties": {
            each.name: _property(each) for each in found if each.field not in Resource.model_fields
        },
        "ensure": _property(next(each for each in found if each.field == "ensure")),
        "common": [each.name for each in found if each.field in Resource.model_fields],
        "watches": "" if model.watches is Resource.watches else _first_paragraph(model.watches),
        "providers": {name: {"works": fault is None, "obstacle": fault} for name, fault in obstacles.items()},
        "example": f"reactor ensure {model.kind} {model.example or 'NAME'}",
    }


def _property(found: Property) -> dict[str, Any]:
    return {
        "type": found.type,
        "required": found.required,
        "default": found.default,
        "meaning": found.meaning,
        "other_names": [*found.names[1:]],
    }


def _first_paragraph(documented: Any) -> str:
    return " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].replace("``", "`").split())


def _page(told: dict[str, Any]) -> str:
    return "\n".join(_lines(told))


def _lines(told: dict[str, Any]) -> Iterator[str]:
    yield f"{told['kind']}: {told['meaning']}"
    yield ""
    yield "Properties:"
    for name, each in {"ensure": told["ensure"], **told["properties"]}.items():
        yield from _property_lines(name, each)
    yield f"  and, as every kind: {', '.join(told['common'])}"
    yield ""
    yield f"Watches: {told['watches'] or 'nothing; it is checked by the slow audit, and with meta: {poll: 1m}'}"
    for name, provider in told["providers"].items():
        yield f"Provider {name}: {provider['obstacle'] or 'works here'}"
    yield ""
    yield f"Example: {told['example']}"


def _property_lines(name: str, each: dict[str, Any]) -> Iterator[str]:
    import textwrap

    default = "required" if each["required"] else "" if each["default"] is None else f"default {_shown(each)}"
    yield f"  {name}  ({', '.join(filter(None, (each['type'], default)))})"
    yield from textwrap.wrap(each["meaning"], _WIDTH, initial_indent="      ", subsequent_indent="      ")


def _shown(each: dict[str, Any]) -> str:
    default = each["default"]
    return default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)
