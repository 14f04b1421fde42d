"""What the manifest and the graph know about a resource, in addition to its properties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reactor.errors import Place
from reactor.named_tuple import NamedTuple
from reactor.resource.diagnostic import PropertyPath

if TYPE_CHECKING:
    from reactor.resource.base import Resource


class TooLongError(Exception):
    """An evaluation would block for too long: repeat it in a thread."""


Outputs = Callable[[str], Mapping[str, Any] | None]
"""The outputs of a resource, by ``kind#name`` or ``kind#alias``; None if it has not published any yet."""


class Deferred(ABC):
    """The expressions of one resource, bound to the data of its manifest. The engine evaluates them before each check.

    ``takes`` names the resources whose outputs the expressions use, each with the first value that does. ``reads``
    holds the absolute paths of the files that the last `settle` has read: a change of one of them is drift.
    """

    takes: Mapping[str, PropertyPath] = MappingProxyType({})
    is_decided: bool = False
    """Whether the conditions could already be evaluated when the manifest was loaded."""
    is_declined: bool = False
    """Whether the conditions were not met then."""
    must_reload: bool = False
    """Whether the last `settle` found that the manifest must be loaded again: a loop has other elements."""
    subscriptions: tuple[str, ...] = ()
    """The references in `subscribe` of the resources that a loop makes, as far as they are known without its elements."""
    moving: tuple[str, ...] = ()
    """The properties that differed in the last two calls of `settle`, each with its source: ``content: ${ ... }``."""

    @property
    def is_refused(self) -> bool:
        """Whether the manifest was loaded with these elements already, and could not be used."""
        return False

    def refuse(self) -> None:  # noqa: B027 - only a loop has elements
        """Note that the manifest can't be used with these elements."""

    @abstractmethod
    def advance_clock(self) -> None:
        """Let the next `settle` see the present time. The engine calls it at each audit with ``meta: {now: audit}``."""

    @property
    @abstractmethod
    def reads(self) -> frozenset[str]:
        """Absolute paths of the files that the last `settle` has read."""

    @abstractmethod
    def settle(self, resource: Resource, outputs: Outputs, *, briefly: bool = False) -> Resource:
        """``resource`` with its current values; the same object if the values have not changed.

        Raises ResourceError when an expression has no value, or an invalid one. With ``briefly``, it takes at most
        some milliseconds and never waits, or raises TooLongError. Without, it may take seconds: call it in a thread.
        """

    @abstractmethod
    def declined(self, outputs: Outputs, *, briefly: bool = False) -> str | None:
        """Why the resource must not be managed on this host, or None if it must be. ``briefly`` is as in `settle`.

        Raises ResourceError when a condition can't be evaluated, and TooLongError.
        """


class Form(NamedTuple):
    """The properties that all resources of one file of the manifest share.

    In the ``ccm:`` form (``is_ccm``), names may repeat, and a failure of a resource does not block its subscribers:
    there, ``subscribe`` only carries refreshes. ``allow_automatic_edges`` lets the program add edges that it finds
    itself; ``meta.automatic_edges`` of the resource must allow it too. ``locate`` finds the place of an offset in the
    file.
    """

    is_ccm: bool = False
    allow_automatic_edges: bool = True
    locate: Callable[[int], Place] | None = None


NO_FORM = Form()
"""The form of a resource that is built in Python."""


NO_SECRETS = frozenset[str]()
"""The secrets of most resources. Python makes a new object for each empty frozenset."""


class Declared(NamedTuple):
    """One record for each resource. The record never changes, but `declare` may give the resource another one.

    ``ref`` is the identity in the graph: ``kind#name``, followed by a number if names repeat. ``offset`` is where the
    declaration begins in its file. ``deferred`` are the expressions that are evaluated before each check. ``members``
    are the refs of the members of a composite, which is changed, failed or ok as they are. ``secrets`` are the
    properties whose values the manifest marks as secret. ``is_covered`` is True if a resource later in the graph
    mounts a file system on its path. ``managed_paths`` are the paths below a purged directory that other resources
    provide. ``reserved`` are the keys, such as uids, that it must not choose or take away, because other resources claim them.
    """

    ref: str
    form: Form = NO_FORM
    offset: int = 0
    deferred: Deferred | None = None
    members: tuple[str, ...] = ()
    secrets: frozenset[str] = NO_SECRETS
    is_covered: bool = False
    managed_paths: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()

    @property
    def place(self) -> Place | None:
        """Where the manifest declares the resource; None for one that is built in Python."""
        return None if self.form.locate is None else self.form.locate(self.offset)


def numbered(ref: str, number: int) -> str:
    """The ref of the ``number``-th (from 1) of the resources with the same kind and name."""
    return ref if number == 1 else f"{ref} ({number})"


def declare(resource: Resource, declared: Declared) -> None:
    """Give ``resource`` this record. Only the manifest and the graph call it, before the resource is checked."""
    resource.__dict__["declared"] = declared


_UNSET = object()


@cache
def _names_of(kind: type[Resource]) -> frozenset[str]:
    return frozenset(kind.model_fields)


def _has_same_properties(one: Resource, other: Resource) -> bool:
    """Whether two resources of one kind have equal properties. A reload compares 10,000 of them."""
    names, ours, theirs = _names_of(type(one)), one.__dict__, other.__dict__
    for name, value in theirs.items():
        if name in names and ours.get(name, _UNSET) != value:
            break
    else:
        if names.isdisjoint(ours.keys() - theirs.keys()):
            return True
    return all(getattr(one, name) == getattr(other, name) for name in names)  # one may hold a default value


def desires_the_same(one: Resource, other: Resource) -> bool:
    """Whether both have the same kind, properties and members, wherever they are declared."""
    ours, theirs = one.declared, other.declared
    return (
        type(one) is type(other)
        and (ours.members, ours.is_covered, ours.managed_paths, ours.reserved)
        == (theirs.members, theirs.is_covered, theirs.managed_paths, theirs.reserved)
        and _has_same_properties(one, other)
        and one.has_same_inputs(other)
    )
