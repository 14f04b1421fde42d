"""Properties that are only known when a resource is checked, because they depend on what others do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reactor.resource.diagnostic import PropertyPath

if TYPE_CHECKING:
    from reactor.resource.base import Resource


class TooLongError(Exception):
    """What must be brief is not: it has to be done in a thread."""


Outputs = Callable[[str], Mapping[str, Any] | None]
"""What a resource, called by ``kind#name`` or ``kind#alias``, gives to others; None while it has given nothing."""


class Deferred(ABC):
    """The expressions of one resource, bound to the data of its manifest. The engine settles them before each check.

    ``takes`` names the resources whose outputs they read, each with the value that does first. ``reads`` holds the
    absolute paths of the files that the last `settle` has read: a change of one of them is drift.
    """

    takes: Mapping[str, PropertyPath] = MappingProxyType({})
    is_decided: bool = False
    """Whether it was known when the manifest was loaded what the conditions say."""
    is_declined: bool = False
    """Whether they were known to be against it then."""
    moving: tuple[str, ...] = ()
    """The properties that had another value in the last `settle` but one, each with its text: ``content: ${ ... }``."""

    @property
    @abstractmethod
    def reads(self) -> frozenset[str]:
        """Absolute paths."""

    @abstractmethod
    def settle(self, resource: Resource, outputs: Outputs, *, briefly: bool = False) -> Resource:
        """``resource`` with the values of now: the very same object when they are what it has already.

        Raises ResourceError when an expression has no value, or one that the property can't take; and TooLongError
        when it is to be done ``briefly``, in some milliseconds and without waiting, and can't be. Otherwise it may
        take seconds, and is for a thread.
        """

    @abstractmethod
    def declined(self, outputs: Outputs, *, briefly: bool = False) -> str | None:
        """Why the resource is not to be managed on this host; None when it is. ``briefly`` is as in `settle`.

        Raises ResourceError when a condition can't be decided, and TooLongError.
        """
