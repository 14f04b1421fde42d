"""``for_each``: one declaration that makes a resource for each element of a list or map.

``item`` is the element, and ``key`` its key in a map or its index in a list, from 0. ``subitems`` loops once more,
within each element: over a list or map that is made from ``item``, with ``subitem`` and ``subkey``.
"""

from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING, Any

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.language.secrets import paths_of_secrets
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems
from reactor.manifest.values import ValueReader
from reactor.named_tuple import NamedTuple
from reactor.resource.property_types import Model

if TYPE_CHECKING:
    from reactor.language.expression.scope import Scope

FOR_EACH, SUBITEMS = "for_each", "subitems"
_KEYS = frozenset((FOR_EACH, SUBITEMS))
_NONE: frozenset[str] = frozenset()

KnownOutputs = dict[str, collections.abc.Mapping[str, collections.abc.Mapping[str, Any]]]
"""For each loop over outputs, by its ref: the outputs that it was evaluated with, by the names that it uses."""


class Loop(Model):
    """The keys of a declaration that make it a loop."""

    for_each: Any
    subitems: Any = None


class Iteration(NamedTuple):
    """The names that the expressions of one resource can use, and the reader of its values.

    ``key`` names it in messages.
    """

    expression_context: ExpressionContext
    reader: ValueReader
    key: str = ""


Secrets = frozenset[tuple[str, ...]]


class Element(NamedTuple):
    """One element of a list or map, and the paths inside it that are secret; ``()`` is all of it."""

    key: Any
    value: Any
    secrets: Secrets


class LoopValues(NamedTuple):
    """The elements of a loop over outputs; ``nested`` has those inside of each if they use outputs too, else None."""

    elements: Any
    nested: list[Any] | None = None


class Loops:
    """The loops of one file. If they are not ``allowed``, as in the `ccm:` form, ``for_each`` is a key like others."""

    def __init__(self, problems: Problems, expression_context: ExpressionContext, *, allowed: bool) -> None:
        self._problems = problems
        self._allowed = allowed
        self.outside = Iteration(expression_context, ValueReader(problems, expression_context.scope))
        """The only iteration of a declaration that is no loop."""

    def keys(self, body: Mapping | None) -> frozenset[str]:
        """Return the keys that make the declaration with this body a loop, and are no properties. Empty for others."""
        return _KEYS if body is not None and FOR_EACH in body and self._allowed else _NONE

    def is_deferred(self, body: Mapping) -> bool:
        """Whether the elements of the loop with this body are known only in a run."""
        return any(uses_outputs(body[key]) for key in self.keys(body) if key in body)

    def is_valid(self, body: Mapping) -> bool:
        """Whether the elements of a deferred loop are valid, as far as they are known without outputs. If not, report why."""
        return uses_outputs(body[FOR_EACH]) or self._elements(body, FOR_EACH, self.outside) is not None

    def iterations(self, body: Mapping) -> list[Iteration] | None:
        """Return the iterations of the loop with this body. If they are not known, report why: None."""
        elements = self._elements(body, FOR_EACH, self.outside)
        return None if elements is None else self._over(body, elements)

    def over(self, body: Mapping, values: LoopValues) -> list[Iteration] | None:
        """Return the iterations of a loop over outputs. If its elements are invalid, report why: None."""
        elements = self._checked(body, FOR_EACH, values.elements)
        return None if elements is None else self._over(body, elements, values.nested)

    def _over(
        self, body: Mapping, elements: list[Element], nested: list[Any] | None = None
    ) -> list[Iteration] | None:
        outer = [self._inside(self.outside, ("item", "key"), each) for each in elements]
        return self._nested(body, outer, nested) if SUBITEMS in body else outer

    def _nested(
        self, body: Mapping, outer: list[Iteration], known: list[Any] | None
    ) -> list[Iteration] | None:
        """Return the inner iterations. The inner elements are evaluated, unless they are ``known`` for each outer one."""
        found: list[Iteration] = []
        for index, around in enumerate(outer):
            with self._problems.in_iteration(around.key, body.key_at(FOR_EACH)):
                elements = (
                    self._elements(body, SUBITEMS, around)
                    if known is None
                    else self._checked(body, SUBITEMS, known[index])
                )
            if elements is None:
                return None
            found += (self._inside(around, ("subitem", "subkey"), each) for each in elements)
        return found

    def _inside(self, around: Iteration, names: tuple[str, str], element: Element) -> Iteration:
        context = inside(around.expression_context, names, element)
        label = f"{around.key}, {shown(element.key)}" if around.key else shown(element.key)
        return Iteration(context, ValueReader(self._problems, context.scope), label)

    def _elements(self, body: Mapping, name: str, around: Iteration) -> list[Element] | None:
        """Return the elements of the list or map that the property ``name`` gives, or report why not."""
        values = around.reader.read(body, Loop, leave=body.keys() - {name})
        if values.invalid:
            return None
        value = values.plain[name]
        found = self._checked(body, name, value)
        if found is not None and name in values.secret and isinstance(body[name], str):
            return _partly_secret(body[name], around.expression_context.scope) or found
        return found

    def _checked(self, body: Mapping, name: str, value: Any) -> list[Element] | None:
        if isinstance(value, dict | list):
            return elements_of(value)
        hint = "give a list, a map, or an expression that is one: '{{ Data.users }}'"
        self._problems.add(
            "R0109", f"{name} must be a list or a map, not {shown(value)}", body.value_at(name), hint
        )
        return None


def inside(context: ExpressionContext, names: tuple[str, str], element: Element) -> ExpressionContext:
    """Return the context of one element, with the ``names`` of the element and its key."""
    item, key = names
    secrets = frozenset((item, *path) for path in element.secrets)
    return context.inside({item: element.value, key: element.key}, secrets)


def elements_of(value: dict[str, Any] | list[Any]) -> list[Element]:
    """Return the elements of a value in which secrets are marked."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [Element(key, each, _secret_paths(each)) for key, each in pairs]


def _secret_paths(value: Any) -> Secrets:
    return frozenset(path[1:] for path in paths_of_secrets({"": value}))


def _partly_secret(text: str, scope: Scope) -> list[Element] | None:
    """Return the elements of the map that ``text`` names; only its secret paths stay secret.

    An expression that computes a map makes all of it secret when it touches a secret. So does a list.
    """
    template = parse_template(text)
    path = template.path if template else None
    if path is None or path[0] not in scope.names:
        return None
    below = [secret[len(path) :] for secret in scope.secrets if secret[: len(path)] == path]
    value: Any = scope.names
    for step in path:
        value = value[step]
    if not all(below) or not isinstance(value, collections.abc.Mapping):
        return None
    return [
        Element(key, each, frozenset(secret[1:] for secret in below if secret[0] == key))
        for key, each in value.items()
    ]


def uses_outputs(node: Any) -> bool:
    """Whether an expression in this value of the tree uses an output of another resource."""
    if isinstance(node, str):
        try:
            return (
                "output" in node
                and (found := parse_template(node)) is not None
                and bool(found.calls("output"))
            )
        except ExpressionError:  # reported when it is evaluated
            return False
    children = node.values() if isinstance(node, Mapping) else node if isinstance(node, Sequence) else ()
    return any(map(uses_outputs, children))
