"""Expressions in the values of a manifest: evaluates them, and locates their errors in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_expression
from reactor.manifest.source import Problems, Source
from reactor.named_tuple import NamedTuple
from reactor.resource.diagnostic import PropertyPath
from reactor.resource.plan import ResourceError

if TYPE_CHECKING:
    from reactor.language.expression.expression import Expression
    from reactor.language.expression.scope import Scope
    from reactor.language.expression.template import Template


def bare_expression(text: str) -> Expression:
    """Parse the expression ``text``, which has no braces. Raises ExpressionError."""
    if text.lstrip().startswith(("{{", "${")):
        hint = "remove the delimiters, as in: Facts.role == 'db'"
        raise ExpressionError("a condition must be written without {{ }} and ${ }", 0, len(text), hint)
    return parse_expression(text)


class Expressive(NamedTuple):
    """A string that contains expressions: its offset in the file, and whether its value must be a string."""

    template: Template
    text: str
    at: int
    as_text: bool

    def evaluate(self, scope: Scope) -> Any:
        """Return the current value. Raises ExpressionError."""
        try:
            return self.template.render(scope) if self.as_text else self.template.value(scope)
        finally:
            scope.warnings.locate(self.at, self.text)


class NotYetError(Exception):
    """The value does not exist yet, but may later: another resource may create the file or provide the output."""


class UnknownSecretError(NotYetError, ResourceError):
    """An expression reads a secret whose value is not known. The message says why, and never quotes a secret."""

    code = "R0134"

    def __init__(self, message: str, hint: str | None) -> None:
        ResourceError.__init__(self, message, hint, code=self.code)


class UnknownNetworkValueError(NotYetError, ResourceError):
    """An expression reads a value of the network that is not known yet. ``name`` is like ``kv://BUCKET/KEY``."""

    code = "R0139"

    def __init__(self, name: str, reason: str, hint: str | None) -> None:
        self.name = f"network: {name}"
        message = f"waits for {self.name}: {reason}"
        ResourceError.__init__(self, message, hint, code=self.code, waits_for=self.name)


class MisplacedError(Exception):
    """An expression in a tree of values failed: the ``error``, and the string (``expressive``) that contains it."""

    def __init__(self, error: ExpressionError, expressive: Expressive) -> None:
        super().__init__(error.message)
        self.error = error
        self.expressive = expressive


_SIMPLE = frozenset((str, int, float, bool, type(None)))
_VARYING = object()
"""The outcome of a string whose expressions must be evaluated each time."""


class Outcomes:
    """What the strings of one strict scope became during one load: a string that many resources have is evaluated once.

    Remembers only strings that call no function of the host: these read files, and every reader must be known.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, bool], Any] = {}

    def evaluate(self, tree: Expressive, scope: Scope) -> Any:
        """Return the value of ``tree``. Raises ExpressionError and NotYetError."""
        key = tree.text, tree.as_text
        found = self._found.get(key, self)
        if found is self or found is _VARYING:
            return self._first(tree, scope) if found is self else tree.evaluate(scope)
        if isinstance(found, ExpressionError):
            raise found.moved(0)
        return found

    def has(self, tree: Any) -> bool:
        """Whether ``tree`` is a string that is remembered: then `evaluate` calls no function of the host."""
        if tree.__class__ is not Expressive:
            return False
        return self._found.get((tree.text, tree.as_text), _VARYING) is not _VARYING

    def known(self, tree: Any, scope: Scope) -> tuple[type, Any] | None:
        """Return the type and value of a string that can be remembered; if it has an error, the type of errors and None.

        Return None for any other tree, without calling a function of the host.
        """
        if tree.__class__ is not Expressive:
            return None
        key = tree.text, tree.as_text
        if key not in self._found and self._can_be_kept(tree, scope):
            with suppress(ExpressionError, NotYetError):
                self._first(tree, scope)
        found = self._found.get(key, _VARYING)
        if isinstance(found, ExpressionError):
            return ExpressionError, None
        return None if found is _VARYING else (type(found), found)

    def _can_be_kept(self, tree: Expressive, scope: Scope) -> bool:
        return scope.strict and tree.template.names() <= scope.names.keys()

    def _first(self, tree: Expressive, scope: Scope) -> Any:
        key = tree.text, tree.as_text
        self._found[key] = _VARYING
        if not self._can_be_kept(tree, scope):
            return tree.evaluate(scope)
        try:
            value = tree.evaluate(scope)
        except ExpressionError as error:
            if not error.others:
                self._found[key] = error.moved(0)
            raise
        if type(value) in _SIMPLE:
            self._found[key] = value
        return value


def evaluated(tree: Any, scope: Scope, outcomes: Outcomes | None = None) -> Any:
    """Return a tree of maps, lists and scalars with its expressions evaluated.

    Pass the ``outcomes`` of the scope while a manifest is loaded. Raises MisplacedError and NotYetError.
    """
    if isinstance(tree, Expressive):
        try:
            return tree.evaluate(scope) if outcomes is None else outcomes.evaluate(tree, scope)
        except ExpressionError as error:
            raise MisplacedError(error, tree) from error
    if isinstance(tree, dict):
        return {key: evaluated(value, scope, outcomes) for key, value in tree.items()}
    if isinstance(tree, list):
        return [evaluated(value, scope, outcomes) for value in tree]
    return tree


def known_part(tree: Any, scope: Scope) -> Any:
    """Return ``tree`` with its expressions evaluated, and `Unknown` in place of each that reads a value not known yet."""
    from reactor.language.unknown import Unknown  # noqa: PLC0415 - many manifests apply no others

    if isinstance(tree, Expressive):
        try:
            return tree.evaluate(scope)
        except (UnknownSecretError, UnknownNetworkValueError) as error:
            return Unknown(error)
    if isinstance(tree, dict):
        return {key: known_part(value, scope) for key, value in tree.items()}
    return [known_part(value, scope) for value in tree] if isinstance(tree, list) else tree


def unevaluated(tree: Any) -> Any:
    """Return a tree of maps, lists and scalars with its expressions unevaluated, as written."""
    if isinstance(tree, Expressive):
        return tree.text
    if isinstance(tree, dict):
        return {key: unevaluated(value) for key, value in tree.items()}
    return [unevaluated(value) for value in tree] if isinstance(tree, list) else tree


def expressives(tree: Any, path: PropertyPath = ()) -> Iterator[tuple[PropertyPath, Expressive]]:
    """Yield every string with expressions in ``tree``, with its path. ``path`` is the path of ``tree`` itself."""
    if isinstance(tree, Expressive):
        yield path, tree
    elif isinstance(tree, (dict, list)):
        for step, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from expressives(value, (*path, step))


def report_expression(error: ExpressionError, problems: Problems, at: int, text: str) -> None:
    """Add the errors of an expression to ``problems``.

    The expression is in the value ``text``, at the offset ``at``.
    """
    for each in (error, *error.others):
        where = offset_in_source(problems.source, at, text, each.start, each.end)
        problems.add(each.code, each.message, where, each.hint)


def offset_in_source(source: Source, at: int, text: str, start: int, end: int) -> int:
    """Return the offset in the file of characters ``start`` to ``end`` of the value ``text``, which is at ``at``.

    If YAML folded or escaped the value, returns the beginning of its line or of the value. For an alias, whose string
    is elsewhere in the file, returns ``at``.
    """
    if source.text.startswith("*", at):
        return at
    culprit = text[start : max(end, start + 1)].partition("\n")[0]
    opener = max(text.rfind("{{", 0, start), text.rfind("${", 0, start), 0)
    # A letter of an escape may equal the first letter of the error, but nothing equals an opening delimiter.
    begin = _next(
        source.text, at, text[opener : opener + 2], text.count(text[opener : opener + 2], 0, opener)
    )
    found = _next(source.text, begin, culprit, text.count(culprit, opener, start))
    return at if found < 0 else found


def _next(text: str, at: int, part: str, before: int) -> int:
    """Return where ``part`` is in ``text`` from ``at`` on, after ``before`` other occurrences; -1 if not found."""
    if at < 0 or not part:
        return -1
    found = text.find(part, at)
    for _ in range(before):
        if found >= 0:
            found = text.find(part, found + 1)
    return found
