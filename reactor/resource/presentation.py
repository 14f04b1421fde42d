"""How a kind shows itself to people who use it from the shell: all of it optional, all of it with a default."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar


class Presentation:
    """The part of a kind that only the commands about single resources ask for."""

    example: ClassVar[str] = ""
    """The arguments of a ``reactor ensure KIND`` that works, for its help."""

    @classmethod
    def shell_defaults(cls, ensure: str) -> Mapping[str, str]:  # noqa: ARG003 - a kind's own may depend on it
        """Properties a person at a shell need not give, although a manifest must, as texts."""
        return {}

    @classmethod
    def obstacle(cls, provider: str) -> str | None:  # noqa: ARG003 - likewise
        """Why ``provider`` can't work on this host; None when it can. Looks, and changes nothing."""
        return None

    def describe(self, state: Any) -> Mapping[str, Any]:
        """What `observe` has found, as values for JSON, in the words of the kind's properties where there are such."""
        found = plain(state)
        return found if isinstance(found, dict) else {"state": found}


def plain(value: Any) -> Any:
    """A tree of dataclasses, named tuples, maps, lists and scalars as values for JSON; anything else as its text."""
    if isinstance(value, Enum):
        return plain(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(inner) for inner in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
