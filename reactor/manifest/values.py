"""Converts the tree to the input of a model: plain maps, lists and scalars, with expressions evaluated."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.language.secrets import holds_secret
from reactor.manifest.evaluation import (
    Expressive,
    UnknownNetworkValueError,
    UnknownSecretError,
    report_expression,
)
from reactor.manifest.nodes import INVALID, Mapping, Sequence
from reactor.manifest.phrasing import shown
from reactor.manifest.scalar_types import Shape
from reactor.manifest.source import Problems
from reactor.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reactor.language.expression.scope import Scope

DEFAULTS = "defaults"
_BARE = frozenset(("control",))
"""Properties that contain bare expressions. Other code reads them."""
_NONE: frozenset[str] = frozenset()
_NOW = frozenset(("alias", "name", "require", "subscribe", "after", "meta", "health_checks"))
"""Properties that must be known when the manifest is loaded, because the graph needs them."""
_TEXT = frozenset((str,))
_NAME = Shape(scalars=_TEXT)


@dataclass(eq=False, repr=False)
class Values:
    """The values of one map. ``invalid`` has the keys whose value was reported as invalid.

    ``deferred`` has the deferred values: trees whose expressions are evaluated when the resource is checked. Their keys
    are not in ``plain``. ``secret`` has the keys whose value must not be shown.
    """

    plain: dict[str, Any] = field(default_factory=dict)
    invalid: set[str] = field(default_factory=set)
    deferred: dict[str, Any] = field(default_factory=dict)
    secret: set[str] = field(default_factory=set)

    @property
    def follows_audits(self) -> bool:
        """Whether the clock of the resource moves at each audit."""
        meta = self.plain.get("meta")
        return isinstance(meta, dict) and meta.get("now") == "audit"

    def over(self, defaults: Values) -> Values:
        """Return these values, with ``defaults`` for missing keys. A property replaces its default completely."""
        plain = {**defaults.plain, **self.plain}
        for key in (*self.invalid, *self.deferred):
            plain.pop(key, None)
        deferred, invalid, secret = {**self.deferred}, {*self.invalid}, {*self.secret}
        if defaults.deferred or defaults.invalid or defaults.secret:
            own = self.plain.keys() | self.invalid | self.deferred.keys()
            deferred = {key: tree for key, tree in defaults.deferred.items() if key not in own} | deferred
            invalid |= defaults.invalid - own
            secret |= defaults.secret - own
        return Values(plain, invalid, deferred, secret)


class KindDefault(NamedTuple):
    """The defaults of one kind: their values, and their map in the file that declares them.

    ``node`` is None in manifests that only inherit them.
    """

    values: Values
    node: Mapping | None = None


KindDefaults = AbstractMapping[str, KindDefault]
"""The defaults by the names of their kinds."""

NO_DEFAULTS: KindDefaults = MappingProxyType({})
NO_DEFAULT = KindDefault(Values())


def checked_map(
    key: str, holder: Mapping, problems: Problems, hint: str | None = None, *, code: str = "R0109"
) -> Mapping | None:
    """Return the map under ``key`` of ``holder``; None if there is none. Reports anything else that is there."""
    value = holder.get(key)
    if isinstance(value, Mapping):
        return value
    if value is not None and value is not INVALID:
        problems.add(code, f"{key} must be a map, not {shown(value)}", holder.value_at(key), hint)
    return None


class ValueReader:
    """Converts maps of the tree to `Values`. Without a ``scope``, expressions stay strings."""

    def __init__(self, problems: Problems, scope: Scope | None = None) -> None:
        self._problems = problems
        self._scope = scope
        self._is_invalid = False
        self._is_secret = False
        self._is_deferred = False
        self._may_be_deferred = False
        self._can_wait = False

    def read(
        self, node: Mapping, model: type[BaseModel], leave: Collection[str] = (), *, eager: bool = False
    ) -> Values:
        """Return the values of ``node`` for the fields of ``model``, without the keys in ``leave``.

        When ``eager``, no value is deferred.
        """
        values = Values()
        shape = Shape(model=model)
        deferred: frozenset[str] = _NONE if eager else getattr(model, "deferred_properties", _NONE)
        can_wait = hasattr(model, "deferred_properties") or getattr(model, "waits_for_secrets", False)
        for key, found in node.items():
            if key in leave:
                continue
            if found.__class__ is str and "{" not in found:
                values.plain[key] = found
                continue
            self._is_invalid = self._is_secret = self._is_deferred = False
            self._may_be_deferred = key in deferred
            self._can_wait = can_wait and key not in _NOW
            value = (
                self._bare(node, key, shape) if key in _BARE else self._value(node, key, shape.inside(key))
            )
            if self._is_invalid:
                values.invalid.add(key)
            elif self._is_deferred:
                values.deferred[key] = value
            else:
                values.plain[key] = value
            if self._is_secret:
                values.secret.add(key)
        return values

    def read_name(self, values: Values, text: str, at: int) -> None:
        """Add the name to ``values``. It is the key ``text`` at the offset ``at``."""
        self._is_invalid = self._is_secret = self._may_be_deferred = self._can_wait = False
        name = self._text(text, at, _NAME) if "{" in text else text
        values.plain["name"] = text if self._is_invalid else name
        if self._is_invalid:
            values.invalid.add("name")
        if self._is_secret:
            values.secret.add("name")

    def _bare(self, node: Any, key: Any, shape: Shape) -> Any:
        scope, self._scope = self._scope, None
        try:
            return self._value(node, key, shape.inside(key))
        finally:
            self._scope = scope

    def _value(self, node: Any, key: Any, shape: Shape) -> Any:
        value = node[key]
        if value.__class__ is str:
            return self._text(value, node.value_at(key), shape) if "{" in value else value
        if value.__class__ is Sequence:
            return [self._value(value, index, shape.inside(index)) for index in range(len(value))]
        if value.__class__ is Mapping:
            return {
                self._key(value, inner, shape): self._value(value, inner, shape.inside(inner))
                for inner in value
            }
        if value is INVALID:
            self._is_invalid = True
        return value if value is None or value is INVALID else shape.fit(value, node.raw(key))

    def _key(self, node: Mapping, key: str, shape: Shape) -> Any:
        """Return ``key`` with its expressions evaluated, if the keys of this map name things that have properties."""
        names_things = shape.values is not None and shape.values.model is not None
        return self._text(key, node.key_at(key), _NAME) if names_things and "{" in key else key

    def _text(self, text: str, at: int, shape: Shape) -> Any:
        if self._scope is None:
            return text
        try:
            template = parse_template(text)
            if template is None or template.may_be_unclosed:
                _warn_of_unclosed(text, at, self._scope)
            if template is None:
                return text
            expressive = Expressive(template, text, at, as_text=shape.scalars == _TEXT)
            if self._may_be_deferred:
                self._is_deferred = True
                return expressive
            value = self._known(expressive, self._scope)
        except ExpressionError as error:
            self._is_invalid = True
            report_expression(error, self._problems, at, text)
            return None
        if holds_secret(value):
            self._is_secret = True
        return value

    def _known(self, expressive: Expressive, scope: Scope) -> Any:
        """Return the value; the expression itself if it reads what is not known and the property can wait.

        Raises ExpressionError.
        """
        try:
            return expressive.evaluate(scope)
        except (UnknownSecretError, UnknownNetworkValueError) as unknown:
            if not self._can_wait:
                raise ExpressionError(
                    unknown.message, 0, len(expressive.text), unknown.hint, code=unknown.code
                ) from unknown
            self._is_deferred = True
            self._is_secret |= isinstance(unknown, UnknownSecretError)
            return expressive


def _warn_of_unclosed(text: str, at: int, scope: Scope) -> None:
    if "{{" in text or "${" in text:
        from reactor.language.expression.template import unclosed  # noqa: PLC0415 - few texts have an opener

        if (found := unclosed(text, scope.names)) is not None:
            scope.warnings.pending.append(found)
            scope.warnings.locate(at, text)
