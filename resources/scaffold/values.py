"""What templates are given besides their own tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

Functions = Mapping[str, Callable[..., Any]]


class Values(Protocol):
    """The data and functions of a manifest, for the templates of one resource."""

    @property
    def context(self) -> Mapping[str, Any]:
        """The names that templates see."""

    @property
    def functions(self) -> Functions:
        """The functions that templates may call."""

    @property
    def has_secrets(self) -> bool:
        """Whether any of the data must not be shown."""

    @property
    def strict(self) -> bool:
        """Whether a value that is missing is an error."""

    @property
    def moment(self) -> datetime | None:
        """What time it is to the templates; None: the time of each rendering."""

    @property
    def reads(self) -> set[str]:
        """The absolute paths of the files that the functions have read; whoever has looked clears it."""

    def matches(self, other: Any) -> bool:
        """Whether templates that have used these values would make the same of those."""


@dataclass(frozen=True)
class FixedValues:
    """Values that are known: none, for a scaffold that is not from a manifest."""

    context: Mapping[str, Any] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    has_secrets: bool = False
    reads: set[str] = field(default_factory=set)
    strict: bool = True
    moment: datetime | None = None

    def matches(self, other: Any) -> bool:
        """Whether they are the same."""
        return bool(self == other)
