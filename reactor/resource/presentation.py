"""How a kind shows itself to people who use it from the shell: all of it optional, all of it with a default."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any


class Presentation:
    """The part of a kind that only the commands about single resources ask for."""

    @classmethod
    def shell_defaults(cls, name: str, ensure: str) -> Mapping[str, str]:  # noqa: ARG003 - a kind's own may depend on them
        """Properties a person at a shell need not give, although a manifest must, as texts."""
        return {}

    @classmethod
    def unavailable_reason(cls, provider: str) -> str | None:  # noqa: ARG003 - likewise
        """Why ``provider`` can't work on this host; None when it can. Looks, and changes nothing."""
        return None

    @abstractmethod
    async def observe(self) -> Any:
        """Read the world."""

    async def describe(self) -> Mapping[str, Any]:
        """The state of the thing now as values for JSON, named like the properties where possible. No secrets.

        Raises what `observe` raises. By default, the state that it finds.
        """
        found = plain(await self.observe())
        if found is None:
            return {"ensure": "absent"}
        return found if isinstance(found, dict) else {"state": found}


def plain(value: Any) -> Any:
    """A tree of dataclasses, named tuples, maps, lists and scalars as values for JSON; anything else as its text.

    Fields that a dataclass keeps out of its `repr` are left out: that is where secrets are.
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
    """The names and values in what has such; None for anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return {str(key): inner for key, inner in value.items()} if isinstance(value, Mapping) else None
