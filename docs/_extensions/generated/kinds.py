"""What is known of a kind, from the same description that ``reactor kinds`` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from generated.markdown import Generated, code, listed, table
from reactor.ensure.description import Description, default_of, describe, summary_of
from reactor.ensure.properties import Property
from reactor.resource.base import Resource
from reactor.resource.registry import find_kind, kind_names

_HEAD = ("property", "type", "default", "meaning")
_LATE = "May be made of the outputs of other resources."


class KindList(Generated):
    """Every kind, with the link to its page and what it is for."""

    def markdown(self) -> Iterable[str]:
        """A table."""
        rows = [(f"[{code(name)}]({name}.md)", summary_of(find_kind(name))) for name in kind_names()]
        return table(("kind", "what it does"), rows)


class CommonProperties(Generated):
    """The properties that every kind has."""

    def markdown(self) -> Iterable[str]:
        """A table."""
        common = describe(find_kind(kind_names()[0])).common
        rows = [(code(each.name), _type_of(each), each.meaning) for each in common if each.name != "ensure"]
        return table(("property", "type", "meaning"), rows)


class KindProperties(Generated):
    """The properties of the kind that is the argument."""

    required_arguments = 1

    def markdown(self) -> Iterable[str]:
        """A table, with ``ensure`` first."""
        model = find_kind(self.arguments[0])
        return table(_HEAD, [_row(each, model) for each in describe(model).own])


class KindBehaviour(Generated):
    """What the kind that is the argument does without being asked."""

    required_arguments = 1

    def markdown(self) -> Iterable[str]:
        """A table."""
        model = find_kind(self.arguments[0])
        return table(("", ""), _behaviour(describe(model), model))


def _row(found: Property, model: type[Resource]) -> tuple[str, ...]:
    names = ", ".join(map(code, found.names))
    default = default_of(found)
    shown = "**required**" if found.required else code(default) if default else ""
    late = f" {_LATE}" if found.field in model.deferred_properties else ""
    return names, _type_of(found), shown, found.meaning + late


def _type_of(found: Property) -> str:
    choices = ("true", "false") if found.is_flag else found.shape.choices
    return listed([*map(code, choices)]) or found.type


def _behaviour(found: Description, model: type[Resource]) -> Iterator[tuple[str, str]]:
    texts = {
        "Listens to": found.watches,
        "Goes after": found.goes_after,
        "Others go after": found.provides,
        "Outputs": found.outputs or f"What `reactor show {found.kind} NAME` tells.",
        "In one go": found.together,
        "With `meta: {reverse: true}`": found.reversal
        or "It can't be undone: that is an error of the manifest.",
        "Providers": listed([*map(code, model.providers)], "and"),
        "From the shell": code(found.example),
    }
    return ((title, text) for title, text in texts.items() if text)
