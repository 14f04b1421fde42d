"""Secrets: text that must not be shown, and the rule by which it spreads.

An evaluation is tainted as a whole, or not at all, and what a tainted evaluation gives is ``SecretText``. It is
tainted when

- it may read a path that the scope declares secret, a path inside one, or a container that holds one. This is decided
  from the text of the expression alone, before it runs (see ``reads``): a branch that is not taken counts, and a key
  that is computed counts as every key;
- a ``SecretText`` comes out of a root, a function or a list while it runs, or lies inside a container that an
  operator, a builtin or the result takes as a whole.

So it may taint too much, never too little: ``toJSON(Data)`` and ``let d = Data; d.port`` are secret when anything in
``Data`` is, and ``Data.port`` is not. A tainted number becomes ``SecretText`` too; true, false and nil stay what
they are, for one bit hides nothing that can be searched for. An error of a tainted evaluation keeps its place
and loses its words, because words quote values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class SecretText(str):
    """Text that no log, event or error may show; ``repr`` does not."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<secret>"


def holds_secret(value: Any) -> bool:
    """Whether a result is secret, or is a list or map with something secret in it."""
    if isinstance(value, (dict, list)):
        return any(map(holds_secret, value.values() if isinstance(value, dict) else value))
    return isinstance(value, SecretText)


def paths_of_secrets(values: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The keys that lead to what is secret in ``values``. A list with something secret in it is secret as a whole."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from ((key, *path) for path in paths_of_secrets(value))
        elif holds_secret(value):
            yield (key,)
