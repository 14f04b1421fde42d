"""Analyses an expression without evaluating it: the paths that it may read, and the keys that may be missing.

The paths decide which expressions are secret. A key may be missing before ``??``, before and after ``?.``, and where
it is compared with ``nil``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reactor.language.errors import ExpressionError, FunctionError
from reactor.language.expression.access import MISSING, fetch_or_missing
from reactor.language.expression.nodes import (
    Binary,
    Call,
    Chain,
    Conditional,
    Constant,
    Items,
    Member,
    Node,
    Pointer,
    Predicate,
    Root,
    Variable,
    children,
    walk,
)
from reactor.language.values import to_string
from reactor.suggestions import closest

Path = tuple[str | None, ...]
"""Keys from the root on, with the root in lower case. None means any key."""

_SYSTEMS = {("Facts", "host", "info", "platform"), ("Facts", "host", "info", "platformFamily")}
_FAMILIES = {"RedHat": "rhel", "Archlinux": "arch"}
"""The names of families in Ansible and Puppet that differ in more than capitals."""

_PLAIN_KEY = re.compile(r"[^.|#@*?\\{}\[\]!\"']+")


def paths_read(node: Node) -> Iterator[Path]:
    """Yield the paths that ``node`` may read. Each includes everything below it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Root):
            yield (None,) if node.name == "$env" else (node.name.lower(),)
        elif isinstance(node, Member):
            yield from _chain(node, waiting)
        else:
            waiting.extend(children(node))
            if isinstance(node, Call) and node.name == "lookup":
                yield _looked_up(node.arguments[0])


def overlaps(path: Path, secret: tuple[str, ...]) -> bool:
    """Whether one of the two paths is a prefix of the other."""
    return all(
        key is None or key == other
        for key, other in zip(path, (secret[0].lower(), *secret[1:]), strict=False)
    )


def _chain(node: Node, waiting: list[Node]) -> Iterator[Path]:
    """Yield the path of ``Data.a[b].c``.

    Computed keys are expressions that read paths too: add these to ``waiting``.
    """
    keys: list[str | None] = []
    while isinstance(node, Member):
        constant = isinstance(node.key, Constant)
        keys.append(str(node.key.value) if isinstance(node.key, Constant) else None)
        if not constant:
            waiting.append(node.key)
        node = node.value
    if not isinstance(node, Root):
        waiting.append(node)
    elif node.name == "$env":
        yield _root(keys.pop()), *reversed(keys)
    else:
        yield node.name.lower(), *reversed(keys)


def _root(key: str | None) -> str | None:
    return None if key is None else key.lower()


def _looked_up(argument: Node) -> Path:
    """Return the plain keys at the beginning of a gjson path."""
    if not isinstance(argument, Constant) or not isinstance(argument.value, str):
        return (None,)
    keys: list[str | None] = []
    for part in argument.value.split("."):
        if not _PLAIN_KEY.fullmatch(part):
            break
        keys.append(part)
    return tuple(keys) or (None,)


def allow_missing_keys(tree: Node) -> None:
    """Mark the members in ``tree`` whose keys may be missing."""
    for node in walk(tree):
        if isinstance(node, Binary) and node.operator == "??":
            _allow(node.left)
        elif isinstance(node, Binary) and node.operator in ("==", "!="):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(other, Constant) and other.value is None:
                    _allow(one)
        elif isinstance(node, Member) and node.optional:
            _allow(node)
            _allow(node.value)


def _allow(node: Node) -> None:
    """Mark ``node``, which may be nil here, and the members that give its value."""
    if isinstance(node, Member):
        node.may_be_missing = True
    elif isinstance(node, Chain):
        _allow(node.value)
    elif isinstance(node, Conditional):
        _allow(node.yes)
        _allow(node.no)
    elif isinstance(node, Binary) and node.operator == "??":
        _allow(node.right)


def certain_members(node: Node) -> Iterator[Member]:
    """Yield the members in ``node`` that every evaluation reads, so none in a branch that may be skipped."""
    if isinstance(node, Member):
        yield node
    if isinstance(node, Conditional):
        yield from certain_members(node.test)
    elif isinstance(node, Binary) and node.operator in ("and", "or", "??"):
        yield from certain_members(node.left)
    elif isinstance(node, Predicate):
        yield from certain_members(node.items)
    elif isinstance(node, Chain):
        yield from certain_members(_before_the_first_question(node.value))
    else:
        for child in children(node):
            yield from certain_members(child)


def _before_the_first_question(node: Node) -> Node:
    """Return the part of a chain that every evaluation reads: the part before the first ``?.``."""
    first = node
    while isinstance(node, Member):
        if node.optional:
            first = node.value
        node = node.value
    return first


def missing_key_error(member: Member, roots: Mapping[str, Any]) -> ExpressionError | None:
    """Return the error for a constant path whose key is missing in ``roots``.

    Returns None if no key is missing, or only an evaluation can tell.
    """
    way: list[Member] = []
    node: Node = member
    while isinstance(node, Member):
        if not (isinstance(node.key, Constant) and isinstance(node.key.value, str)):
            return None
        way.append(node)
        node = node.value
    if not isinstance(node, Root) or node.name == "$env":
        return None
    value = roots[node.name]
    for step in reversed(way):
        key = step.key.value if isinstance(step.key, Constant) else None
        if not isinstance(value, Mapping):
            return None
        found = fetch_or_missing(value, key)
        if found is MISSING:
            if step.may_be_missing:
                return None
            error = no_such_key(step, value, key)
            return ExpressionError(error.message, step.key.start, step.key.end, error.hint, code=error.code)
        value = found
    return None


def wrong_systems(tree: Node) -> Iterator[ExpressionError]:
    """Yield an error for each comparison of the host's system with a name in capitals, because none is ever equal.

    ``Facts.host.info.platformFamily == 'Debian'`` is right in other programs, and would skip a resource here.
    """
    for node in walk(tree):
        if isinstance(node, Binary) and node.operator in ("==", "!=", "in"):
            fact = next(filter(None, map(_system, (node.left, node.right))), None)
            for name in _texts(node.left, node.right) if fact else ():
                if name.value != name.value.lower():
                    meant = _FAMILIES.get(name.value, name.value.lower())
                    words = f"{fact} is never {name.value!r}"
                    yield ExpressionError(words, name.start, name.end, f"write {meant!r}", code="R0303")


def _system(node: Node) -> str | None:
    """Return the source of ``node`` if it is the fact that names the system of the host, or its family."""
    keys: list[str] = []
    of = node
    while isinstance(of, Member) and isinstance(of.key, Constant):
        keys.append(str(of.key.value))
        of = of.value
    is_fact = isinstance(of, Root) and (of.name, *reversed(keys)) in _SYSTEMS
    return f"Facts.{'.'.join(reversed(keys))}" if is_fact else None


def _texts(*nodes: Node) -> Iterator[Constant]:
    """Yield the strings among ``nodes``, and in the lists among them."""
    for node in nodes:
        for each in node.items if isinstance(node, Items) else (node,):
            if isinstance(each, Constant) and isinstance(each.value, str):
                yield each


def no_such_key(node: Member, value: Any, key: Any) -> FunctionError:
    """Return the error that the map ``value`` has no ``key``."""
    written = repr(key) if isinstance(key, str) else to_string(key)
    near = closest(key, value, ignore_case=True) if isinstance(key, str) else None
    hint = (
        _fact_meant(node, key)
        or _of_element(node, key)
        or (f"did you mean {near}?" if near else _default(node))
    )
    return FunctionError(f"{_named(node.value) or 'the map'} has no key {written}", hint, code="R0304")


def _fact_meant(node: Member, key: Any) -> str | None:
    """Return the hint for a fact of another program, such as ``Facts.os.family``."""
    if _named(node.value) not in ("Facts", "Facts.host", "Facts.host.info") or not isinstance(key, str):
        return None
    from reactor.language.foreign_names import fact_meant  # noqa: PLC0415 - only for an error

    return fact_meant(key)


def _of_element(node: Member, key: Any) -> str | None:
    """Return the hint for ``item.key`` and ``item.value``, as Ansible names the parts of an element of a map."""
    if _named(node.value) == "item" and key in ("key", "value"):
        return "in a loop over a map, key is the key and item the value itself: {{ key }}, {{ item }}"
    return None


def as_warning(error: ExpressionError, found: Any) -> ExpressionError:
    """Return ``error`` as a warning that ``found`` is used as the value, as in CCM."""
    taken = "nil" if found is None else "an empty string"
    hint = error.hint if (error.hint or "").startswith("did you mean") else None
    return ExpressionError(
        f"{error.message}, so {taken} is taken for it, as in CCM", error.start, error.end, hint
    )


def _default(node: Member) -> str:
    name = _named(node) or "x"
    hint = f"give what may be missing a default: {name} ?? 'default'"
    return f"'reactor facts' shows what there is; or {hint}" if name.startswith("Facts.") else hint


def _named(node: Node) -> str | None:
    """Return the source of ``node`` if it consists of plain names; None otherwise."""
    if isinstance(node, Root | Variable):
        return node.name
    if isinstance(node, Call) and len(node.arguments) == 1 and isinstance(node.arguments[0], Constant):
        return f"{node.name}({node.arguments[0].value!r})"
    if isinstance(node, Member) and isinstance(node.key, Constant) and isinstance(node.key.value, str):
        if isinstance(node.value, Pointer):
            return f"#.{node.key.value}"
        before = _named(node.value)
        plain = node.key.value.replace("_", "a").isalnum()
        return before and (f"{before}.{node.key.value}" if plain else f"{before}[{node.key.value!r}]")
    return None
