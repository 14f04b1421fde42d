"""Shows facts and data: a tree of values, or the value at a path in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from reactor.cli.messages import fail
from reactor.cli.options.common import ValueFormat
from reactor.console.style import Style, wants_colour
from reactor.resource.escaping import escaped

_ESCAPED_IN_PATHS = str.maketrans({sign: f"\\{sign}" for sign in r".*?|#@\!{}[]()"})


class LayeredValue(dict[str, Any]):
    """A value and the layer that it comes from: a map in JSON; in text, the layer is a comment after the value."""

    def __init__(self, value: Any, layer: str) -> None:
        super().__init__(value=value, layer=layer)


def look_up(values: Mapping[str, Any], query: str | None, noun: str) -> Any:
    """The value at the path ``query`` in ``values``; without a path, all. Ends the command if there is none."""
    from reactor.language.expression.gjson import gjson_get
    from reactor.suggestions import did_you_mean

    if query is None:
        return dict(values)
    try:
        return gjson_get(values, query)
    except ValueError as error:
        fail("R0705", f"can't look up {query}: {error}", None, 1)
    except KeyError:
        hint = did_you_mean(query, {path for leaf, _ in leaves(dict(values)) for path in _beginnings(leaf)})
        fail("R0705", f"there is no {noun} {query!r}", hint or "without a path, the command shows all", 1)


def show(value: Any, form: ValueFormat | None) -> None:
    """Write the value to stdout."""
    form = form or ("text" if sys.stdout.isatty() else "json")
    if form == "json":
        click.echo(json_text(value))
    elif form == "yaml":
        from reactor.cli.yaml_text import yaml_text

        plain = json.loads(json.dumps(value))  # the YAML dumper does not support our own map types
        click.echo(yaml_text(plain), nl=False)
    else:
        style = Style(wants_colour(sys.stdout))
        for path, leaf in leaves(value):
            words = [style("bold", escaped(path))] if path else []
            click.echo("  ".join([*words, *_shown(leaf, style)]), color=style.coloured)


def json_text(value: Any) -> str:
    """``value`` as JSON. Infinity and NaN become null, as in all our JSON."""
    plain = json.loads(json.dumps(value), parse_constant=lambda _: None)
    return json.dumps(plain, indent=2, ensure_ascii=False)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that fits on a line, with its path. A list of plain values is one line."""
    is_line = isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value)
    if is_line or isinstance(value, LayeredValue):
        yield path, value
    elif isinstance(value, (dict, list)) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            step = str(key).translate(_ESCAPED_IN_PATHS)
            yield from leaves(inner, f"{path}.{step}" if path else step)
    else:
        yield path, value


def _beginnings(path: str) -> Iterator[str]:
    yield path
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


def _shown(value: Any, style: Style) -> Iterator[str]:
    layer = None
    if isinstance(value, LayeredValue):
        value, layer = value["value"], value["layer"]
    yield escaped(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if layer is not None:
        yield style("dim", escaped(f"# {layer}"))
