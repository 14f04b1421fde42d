"""The section ``shares``: the values that a host of a fleet shares with the other hosts."""

from __future__ import annotations

import json
from typing import Any

from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.network_functions import SHARED_NAME
from reactor.manifest.nodes import Mapping
from reactor.manifest.source import Problems
from reactor.manifest.values import ValueReader, checked_map
from reactor.resource.property_types import Model

SECTION = "shares"
LARGEST = 64 * 1024
"""Bytes of a shared value as JSON."""


class _AnyShares(Model):
    """The model of a map whose keys are free."""


def add_shares(root: Mapping, problems: Problems, context: ExpressionContext, shares: dict[str, Any]) -> None:
    """Add the values under ``shares`` to ``shares``. Errors are added to ``problems``."""
    node = checked_map(SECTION, root, problems, "write 'NAME: VALUE' below it")
    if node is None:
        return
    found = ValueReader(problems, context.scope).read(node, _AnyShares, eager=True)
    for name in node:
        at = node.key_at(name)
        if not SHARED_NAME.fullmatch(name):
            hint = "use a-z, A-Z, 0-9, - and _, at most 63"
            problems.add("R0109", f"{name[:80]!r} is not a name for a shared value", at, hint)
        elif name in found.secret:
            hint = "all hosts of the fleet can read what is shared: share no secret"
            problems.add("R0109", f"the shared value {name} contains a secret", at, hint)
        elif name in shares:
            problems.add("R0104", f"the value {name} is shared twice", at, "rename one of them")
        elif name in found.plain and found.plain[name] is None:
            hint = f"give it a value, or remove the line {name}"
            problems.add("R0109", f"the shared value {name} is empty", at, hint)
        elif name in found.plain and _is_fit(found.plain[name], name, problems, at):
            shares[name] = found.plain[name]


def _is_fit(value: Any, name: str, problems: Problems, at: int) -> bool:
    """Whether the value can be sent; else its problem is added."""
    try:
        size = len(json.dumps(value, allow_nan=False).encode())
    except (TypeError, ValueError):
        hint = "share a string, a number, true or false, or lists and maps of them"
        problems.add("R0109", f"the shared value {name} can't be written as JSON", at, hint)
        return False
    if size > LARGEST:
        hint = "put a file of this size on a web server, and share its URL"
        problems.add("R0109", f"the shared value {name} has {size} bytes, more than {LARGEST}", at, hint)
    return size <= LARGEST
