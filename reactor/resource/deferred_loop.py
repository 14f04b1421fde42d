"""A loop over outputs of other resources: which resources it makes is known only when those have been checked."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Literal, Self

from pydantic import PrivateAttr

from reactor.resource.base import Resource
from reactor.resource.plan import Plan


class DeferredLoop(Resource[None], kind="for_each"):
    """The loop itself. It comes after the resources whose outputs it uses, and before those that it makes.

    Its name is ``kind#name`` of the resources that it makes, with the name as written. The loader makes it; no
    manifest declares one as a resource. A check compares its elements with those that it was expanded for: if they
    differ, the manifest is loaded again. It changes nothing itself.
    """

    deferred_properties = frozenset(("for_each", "subitems"))

    ensure: Literal["present"] = "present"
    """It is always there."""
    for_each: Any = None
    """The list or map of elements; None while it is not known."""
    subitems: Any = None
    """For each element, the list or map of the elements inside it, if these use outputs."""

    _makes: str = PrivateAttr(default="*")
    _members: tuple[str, ...] | None = PrivateAttr(default=None)

    def expand(self, makes: str, members: tuple[str, ...] | None) -> None:
        """Set the kind of resource that it makes, ``*`` for any, and their refs; None if these are not known yet."""
        self._makes, self._members = makes, members

    @property
    def made(self) -> tuple[str, ...]:
        """The refs of the resources that it makes; empty while they are not known."""
        return self._members or ()

    @property
    def is_known(self) -> bool:
        """Whether it is known which resources it makes."""
        return self._members is not None

    @property
    def unknown(self) -> str:
        """The sentence that says which resources have to be checked before its elements are known."""
        takes = [*self.declared.deferred.takes] if self.declared.deferred is not None else []
        return f"the elements of the loop are unknown until {' and '.join(takes)} {'has' if len(takes) == 1 else 'have'} run"

    def may_make(self, name: str) -> bool:
        """Whether it may make a resource that ``name``, a ref or a glob, means. False when its resources are known."""
        kinds = ("*", name.partition("#")[0])
        return self._members is None and (self._makes in kinds or fnmatchcase(self._makes, kinds[1]))

    def has_same_inputs(self, other: Self) -> bool:
        """Whether both make the same resources."""
        return self._members == other._members

    def sandbox_access(self) -> tuple[()]:
        """Nothing: the resources that it makes declare their own access."""
        return ()

    async def observe(self) -> None:
        """Do nothing: its elements are evaluated before the check."""

    def plan(self, state: None, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to do
        """No actions: the resources that it makes do the work."""
        return ()
