"""A composite: a resource that contains the resources of another manifest."""

# No `from __future__ import annotations` here: pydantic would compile each annotation from its text, and again for each
# class that inherits it.

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Self

from pydantic import PrivateAttr

from reactor.resource.base import Resource
from reactor.resource.diagnostic import PropertyProblem
from reactor.resource.plan import Plan, ResourceError
from reactor.resource.property_types import Flag
from reactor.resource.relations import Relations


class Composite(Resource[None]):
    """Contains the resources of the manifest at `manifest_path`.

    The loader adds those to the graph, and lists them in ``declared.members``. This resource is changed, failed or ok
    as its members are; without members, it is ok. `refuse` records why the other manifest is not applied: a check then
    fails with that reason.
    """

    noop: Flag = False
    """Only report what the resources of the other manifest would do."""
    health_check_only: Flag = False
    """Run only the health checks of the resources of the other manifest."""
    allow_apply: Flag = True
    """Whether the other manifest may apply further ones."""
    data: dict[str, Any] | None = None
    """Merged over the data of the other manifest; unset: all the data of this manifest is merged."""

    _given: Mapping[str, Any] = PrivateAttr(default_factory=dict)
    _refusal: str | None = PrivateAttr(default=None)
    _is_missing: bool = PrivateAttr(default=False)

    @property
    @abstractmethod
    def manifest_path(self) -> str:
        """The absolute path of the other manifest."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """`meta: {now: audit}` is for resources whose own values can show the time."""
        yield from super().property_problems()
        if self.slot is not None:
            hint = "set it on the resources of that manifest"
            yield PropertyProblem(("slot",), f"{self.kind} changes nothing itself", hint)
        if self.meta.now == "audit":
            hint = "set it on the resources of that manifest"
            yield PropertyProblem(("meta", "now"), f"{self.kind} has no values that can show the time", hint)

    def give(self, values: Mapping[str, Any]) -> None:
        """Pass on these ``values`` in place of the properties of these names, which are not wholly known yet."""
        self._given = values

    @property
    def given_data(self) -> Any:
        """The data to merge over those of the other manifest, in which values may be `Unknown`."""
        return self._given.get("data", self.data)

    def refuse(self, reason: str, *, is_missing: bool = False) -> None:
        """Record why the other manifest is not applied; ``is_missing`` if the file does not exist yet."""
        self._refusal = reason
        self._is_missing = is_missing

    @property
    def refusal(self) -> str | None:
        """Why the other manifest is not applied; None when it is."""
        return self._refusal

    @property
    def is_missing(self) -> bool:
        """Whether the other manifest did not exist when this one was loaded."""
        return self._is_missing

    def has_same_inputs(self, other: Self) -> bool:
        """Whether both manifests can be applied, or neither can, for the same reason."""
        return self.refusal == other.refusal

    async def observe(self) -> None:
        """Raise ResourceError when the other manifest is not applied."""
        if self._refusal is not None:
            raise ResourceError(self._refusal)

    async def describe(self) -> Mapping[str, Any]:
        """Present, with the refs of the members. Whether they are as desired, their own checks say."""
        await self.observe()
        return {"ensure": "present", **await self.outputs()}

    def plan(self, state: None, *, refresh: bool) -> Plan:  # noqa: ARG002 - its members do all there is to do
        """No actions: the members do the work."""
        return ()

    def relations(self) -> Relations:
        """Its relations to other resources.

        Depends on: The other manifest, which another resource may make.
        """
        return Relations(depends_on=(self.manifest_path,))

    async def outputs(self) -> Mapping[str, Any]:
        """The refs of the members."""
        return {"members": list(self.declared.members)}
