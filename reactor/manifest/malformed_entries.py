"""Reports entries and items of a list that do not have the shape of a resource. Imported only for such an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.phrasing import NAMES, TASKS, kind_meant, listed, shown
from reactor.manifest.scalar_types import UNKNOWN, Shape
from reactor.manifest.source import Problems
from reactor.resource.base import Resource


def is_task(entry: Mapping) -> bool:
    """Whether an entry with several keys is a task of Ansible."""
    return next(iter(entry)) == "name" or not TASKS.isdisjoint(entry)


def report_task(task: Mapping, kinds: Iterable[str], problems: Problems) -> None:
    """Report a task of Ansible that is among the entries. ``kinds``: the names of the installed ones."""
    names = tuple(kinds)
    kind = next(filter(None, (kind_meant(word, names) for word in task)), "KIND")
    hint = f"write '- {kind}:', below it '- NAME:', and below that the properties; a resource has no title"
    at = task.key_at(next(iter(task)))
    problems.add("R0105", "this is a task of Ansible, and an entry is a kind with its resources", at, hint)


def report_kinds(entry: Mapping, problems: Problems, *, starts_another: bool) -> None:
    """Report an entry with more than one key. ``starts_another``: the second is a kind, too."""
    first, second, *_ = entry
    hint = (
        f"start a new entry: '- {second}:'" if starts_another else f"indent what belongs to {first} below it"
    )
    message = f"an entry declares one kind; this one has {listed((*entry,), 'and')}"
    problems.add("R0105", message, entry.key_at(second), hint)


def report_item(item: Any, at: int, problems: Problems) -> None:
    """Report an item of a list of resources, at the offset ``at``, that is not one name with its properties."""
    if isinstance(item, Mapping) and item:
        message = f"an item of the list is one name with its properties; this one has {len(item)} keys"
        problems.add("R0105", message, item.key_at((*item,)[1]), _hint_on_item(item))
        return
    hint = f"write '- {item}:'" if isinstance(item, str) and item.isprintable() else "write '- NAME:'"
    problems.add(
        "R0105", f"an item of the list is a name with its properties, not {shown(item or None)}", at, hint
    )


def report_body(model: type[Resource], item: Mapping, problems: Problems) -> None:
    """Report an item whose name leads to something that is no map of properties."""
    [(name, body)] = item.items()
    message = f"the properties of {shown(name)} are a map, not {shown(body)}"
    problems.add("R0105", message, item.value_at(name), _hint_on_body(model, name, body))


def _hint_on_body(model: type[Resource], name: str, body: Any) -> str:
    if name in NAMES and isinstance(body, str) and body.isprintable():
        return f"write '- {body}:', and the properties below it"
    fields = Shape(model=model).fields
    state = fields.get("ensure", UNKNOWN)
    if isinstance(body, str) and (body in state.choices or (str in state.scalars and not state.choices)):
        return f"write '- {name}: {{ensure: {body}}}'"
    if "value" in fields and isinstance(body, str | int | float):
        return f"write '- {name}: {{value: {body}}}'"
    return "write each as 'property: value'"


def _hint_on_item(item: Mapping) -> str:
    named = next((item[key] for key in NAMES if key in item), None)
    if isinstance(named, Sequence):
        return "write '- \"{{ item }}\":' with 'for_each: [...]' below it, and the properties"
    if isinstance(named, str) and named.isprintable():
        return f"write the name before the colon: '- {named}:', and the properties below it"
    return f"indent the properties below {next(iter(item))}:"
