"""How the shell commands show a kind. Everything here is optional and has a default."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any


class Presentation:
    """The part of a kind that only the commands for single resources use."""

    @classmethod
    def shell_defaults(cls, name: str, ensure: str) -> Mapping[str, str]:  # noqa: ARG003 - a kind may use them
        """Defaults, as strings, that `reactor ensure` uses for properties that a manifest must set."""
        return {}

    @classmethod
    def unavailable_reason(cls, provider: str) -> str | None:  # noqa: ARG003 - a kind may use it
        """Why ``provider`` can't work on this host; None if it can. Changes nothing."""
        return None

    @abstractmethod
    async def observe(self) -> Any:
        """Read the host and return the state found."""

    async def describe(self) -> Mapping[str, Any]:
        """The current state as values for JSON, named like the properties where possible. Without secrets.

        Raises what `observe` raises. The default is the state that `observe` returns.
        """
        found = plain(await self.observe())
        if found is None:
            return {"ensure": "absent"}
        return found if isinstance(found, dict) else {"state": found}


def plain(value: Any) -> Any:
    """A tree of dataclasses, named tuples, maps, lists and scalars as values for JSON; anything else as a string.

    Leaves out fields that a dataclass excludes from its `repr`, because these hold secrets.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if (fields := _fields(value)) is not None:
        return {name: plain(inner) for name, inner in fields.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(inner) for inner in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The fields of a dataclass or named tuple, by name; None for anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return {str(key): inner for key, inner in value.items()} if isinstance(value, Mapping) else None
