"""Expressions of a loop or a role, written so that they mean the same outside of it.

Their own names, such as ``item``, are bound by ``let``: ``{{ let item = "a"; file(item) }}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from reactor.data.resolve import masked
from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_expression, parse_template
from reactor.language.expression.scope import Scope
from reactor.language.unknown import with_others
from reactor.manifest.evaluation import Expressive, NotYetError
from reactor.manifest.expression_context import LOCAL_NAMES
from reactor.resource.redaction import MASK


def written_outside(tree: Any, scope: Scope) -> Any:
    """Return a tree of maps, lists and scalars whose strings mean the same without the names of a loop or role.

    What is known already is a plain value. What is not stays an expression.
    """
    if isinstance(tree, Expressive):
        return _value(tree, scope)
    if isinstance(tree, dict):
        return {key: written_outside(value, scope) for key, value in tree.items()}
    return [written_outside(value, scope) for value in tree] if isinstance(tree, list) else tree


def condition_outside(text: str, names: Iterable[str], scope: Scope) -> str:
    """Return the condition ``text``, which uses ``names``, with those of a loop or role bound."""
    return _bindings(names, scope) + text


def plain_text(value: Any) -> Any:
    """Return ``value`` so that a manifest reads its strings as they are, also those with ``{{`` or ``${``."""
    if isinstance(value, str):
        return f"{{{{ {_literal(value)} }}}}" if parse_template(value) is not None else value
    if isinstance(value, dict):
        return {key: plain_text(each) for key, each in value.items()}
    return [plain_text(each) for each in value] if isinstance(value, list) else value


def _value(expressive: Expressive, scope: Scope) -> Any:
    if not _local(expressive.template.names(), scope):
        return expressive.text
    try:
        return plain_text(expressive.evaluate(scope))
    except (NotYetError, ExpressionError):  # its check reports an error, if it still is one
        return _text(expressive.text, scope)


def _text(text: str, scope: Scope) -> str:
    """Return ``text`` with bindings in each of its expressions that needs them."""
    from reactor.language.expression.template import pieces  # noqa: PLC0415 - many manifests have no expressions

    parts, position = [], 0
    for piece in pieces(text):
        inner = text[piece.inner : piece.close]
        bindings = _bindings(parse_expression(inner).names(), scope)
        parts += [
            text[position : piece.inner],
            bindings and f" {bindings}",
            inner.lstrip() if bindings else inner,
        ]
        position = piece.close
    return "".join([*parts, text[position:]])


def _bindings(names: Iterable[str], scope: Scope) -> str:
    """Return the ``let`` of each of the ``names`` of a loop or role, with its value. Secrets in it are masked."""
    local = _local(names, scope)
    secrets = frozenset(path for path in scope.secrets if path[0] in local)
    values = masked({name: with_others(scope.names[name], MASK) for name in local}, secrets, MASK)
    return "".join(f"let {name} = {_literal(values[name])}; " for name in local)


def _local(names: Iterable[str], scope: Scope) -> list[str]:
    found = frozenset(names)
    return [name for name in LOCAL_NAMES if name in found and name in scope.names]


def _literal(value: Any) -> str:
    """Return ``value`` in the language of expressions. Two braces never touch: ``}}`` would end the expression."""
    if isinstance(value, Mapping):
        pairs = (
            f"{json.dumps(str(key), ensure_ascii=False)}: {_literal(each)}" for key, each in value.items()
        )
        return f"{{ {', '.join(pairs)} }}" if value else "{ }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return "nil" if value is None else json.dumps(value, ensure_ascii=False, default=str)
