"""The base of every kind: the properties all resources share, and the hooks a kind writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Self

from pydantic import Field, model_validator

from reactor.resource.common_properties import DEFAULT_META, Control, Meta, Registration, Subscriptions
from reactor.resource.declared import Declared
from reactor.resource.diagnostic import InvalidPropertiesError, PropertyProblem
from reactor.resource.health import HealthCheck
from reactor.resource.plan import Plan, ResourceError
from reactor.resource.presentation import Presentation
from reactor.resource.properties import Model, References, did_you_mean
from reactor.resource.relations import NO_RELATIONS, Claim, Exclusion, Relations, SandboxAccess
from reactor.resource.watch import Watch

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    State = TypeVar("State", default=Any)

    class _TypedByState(Generic[State]):
        """The state that a kind observes, for the type checker."""

else:
    State = Any

    class _TypedByState:
        """``Resource[State]`` is `Resource` itself here: a generic pydantic model would be built once more for each kind."""

        def __class_getitem__(cls, state: Any) -> type:
            return cls


class Resource(_TypedByState[State], Presentation, Model, ABC):
    """One thing on the host with a desired state.

    A kind is a subclass, typed by the state that it observes: ``class File(Resource[FileState], kind="file")``. Its fields
    are its properties. It writes `watches`, `observe` and `plan`, and any of the other hooks that make sense for it. The
    engine does the rest. Do not keep what `observe` found as input to a later decision, except a stamp that proves that
    the host has not changed since.
    """

    kind: ClassVar[str]
    providers: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""
    """What may follow ``reactor ensure KIND``, for its help."""
    may_undo: ClassVar[frozenset[str]] = frozenset()
    """Kinds whose resources a change of this kind may undo as a side effect: a run that ends checks them once more."""
    provides_more: ClassVar[bool] = False
    """Whether it may provide more than `relations` lists, as a package does: a dry run can't tell then what is missing."""
    deferred_properties: ClassVar[frozenset[str]] = frozenset()
    """Properties whose expressions are evaluated when the resource is checked, not when the manifest is loaded."""

    name: Annotated[str, Field(min_length=1)]
    """What it is about; for a file, its path."""
    ensure: str
    """The desired state."""
    alias: Annotated[str, Field(min_length=1)] | None = None
    """A second name to refer to it by."""
    provider: str | None = None
    """Which implementation of the kind; by default the one that fits."""
    require: References = ()
    """These must be ok first."""
    subscribe: Subscriptions = ()
    """As ``require``, and be refreshed when they change."""
    after: References = ()
    """Order only: these go first if they have work; their failure does not block."""
    control: Control | None = None
    """Expressions that decide whether it is managed on this host."""
    health_checks: tuple[HealthCheck, ...] = ()
    """Commands and goss rules that tell whether it does its work."""
    register_when_stable: tuple[Registration, ...] = ()
    """CCM's service registrations; checked, and published nowhere."""
    meta: Meta = DEFAULT_META
    """How the engine treats it."""

    def __init_subclass__(cls, *, kind: str = "", providers: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind:
            cls.kind = kind
            cls.providers = providers

    @cached_property
    def declared(self) -> Declared:
        """What the manifest and the graph know about this resource. `reactor.resource.declared.declare` sets it."""
        return Declared(f"{self.kind}#{self.name}")

    @property
    def ref(self) -> str:
        """The identity in the graph: ``kind#name``, with a number after it where names repeat."""
        return self.declared.ref

    @property
    def secrets(self) -> frozenset[str]:
        """The properties whose values must not be shown: those the manifest marks, and those the kind names."""
        return self.declared.secrets.union(self.secret_properties())

    @model_validator(mode="after")
    def _reject_conflicts(self) -> Resource:
        if problems := list(self.property_problems()):
            raise InvalidPropertiesError(problems)
        return self

    def property_problems(self) -> Iterable[PropertyProblem]:
        """What is wrong with the properties taken together. A kind extends it: ``yield from super()...``."""
        if self.provider is not None and self.provider not in self.providers:
            hint = did_you_mean(self.provider, self.providers) or f"providers: {', '.join(self.providers)}"
            yield PropertyProblem(("provider",), f"{self.kind} has no provider {self.provider!r}", hint)
        if self.meta.reverse and type(self).reversal is Resource.reversal:
            hint = "remove reverse; what leaves the manifest is then let go"
            yield PropertyProblem(("meta", "reverse"), f"{self.kind} can't be undone", hint)

    def warnings(self) -> Iterable[PropertyProblem]:
        """Properties that are allowed and most likely a mistake. The manifest is valid, and the user sees the warnings."""
        return ()

    def watches(self) -> Iterable[Watch]:
        """What could make this drift. Declarations only."""
        return ()

    @abstractmethod
    async def observe(self) -> State:
        """Read the host and return the state found. Never changes anything.

        Raises ResourceError or OSError when the host can't be read.
        """

    @abstractmethod
    def plan(self, state: State, *, refresh: bool) -> Plan:
        """The actions that lead from ``state`` to the desired state. Pure: same state, same plan. Empty: as desired.

        ``refresh`` says that something this resource subscribes to has changed. Raises ResourceError when the desired
        state can't be reached from ``state``.
        """

    async def verify(self) -> Plan:
        """The actions that are still needed after an apply; anything but an empty plan fails the resource."""
        return self.plan(await self.observe(), refresh=False)

    async def preflight(self, state: State) -> None:
        """Raise the ResourceError that a change from ``state`` would end in, where a closer look can find that out.

        Only a dry run (noop) calls this, and only where something would be changed. It may take longer than `observe`, and
        changes nothing either.
        """

    def consequences(self, changed: Collection[str]) -> Sequence[str]:  # noqa: ARG002 - most have none
        """Sentences: what this resource would do because the paths or accounts ``changed`` would change before it.

        Only a dry run (noop) calls this: in a real run, `observe` sees the changes.
        """
        return ()

    def group_key(self) -> Hashable | None:
        """Resources of one kind with equal keys that are ready at the same time are applied together; None: always alone.

        A key never changes. Applying one resource may change others of its group: a run without watches checks all of
        them once more at its end.
        """
        return None

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> Mapping[str, ResourceError]:
        """Bring all ``members``, which have equal keys, to their desired states at once, in place of their plans.

        Returns, by ref, the errors of single members. Raises ResourceError or OSError when the whole failed and it is not
        known which members are the reason: then the engine tries halves of those that are not as desired yet, without
        those that a GroupError names. In any case, each member is verified by itself afterwards.
        """
        raise NotImplementedError

    async def reversal(self, state: State) -> Resource:
        """The resource that undoes this one: of the same kind and name, with ``state`` as its desired state.

        For ``meta: {reverse: true}``; a kind without this method can't be undone. The engine calls it once, with what
        `observe` found before the first change, and stores the result. When this resource has left the manifest, the stored
        one is checked like any other, maybe by a later process. `keep_for_undo` keeps what is too big for a property.
        Raises ResourceError when ``state`` can't be restored: then nothing is changed. A dry run calls it for that error.
        """
        raise NotImplementedError

    async def outputs(self) -> Mapping[str, Any] | None:
        """The values that expressions of other resources may use, once this one is as desired; None: nothing yet.

        By default, those of `describe`.
        """
        return await self.describe()

    def relations(self) -> Relations:
        """The paths and accounts that this provides, removes, clears and depends on: they become automatic edges."""
        return NO_RELATIONS

    def claims(self) -> Iterable[Claim]:
        """What this wants of things that another resource could want otherwise: then the manifest is refused."""
        return ()

    def excludes(self) -> Iterable[Exclusion]:
        """The spaces in which this leaves no room for the claims of other resources: one there is refused too."""
        return ()

    def source_files(self) -> Collection[str]:
        """Absolute paths of files that say what is desired: a change of one is an edit, and not drift.

        A path that ends with a slash stands for all that is in a directory.
        """
        return ()

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """What the sandbox of the service must leave open: a `SandboxAccess`, or an absolute path that this writes.

        By default, everything. What systemd or another service does when it is asked over its bus or socket needs nothing.
        """
        return (SandboxAccess.ANYTHING,)

    def might_provide(self, missing: str) -> bool:  # noqa: ARG002 - other kinds know more
        """Whether applying this may bring the ``missing`` of a `ResourceError`. Only a dry run (noop) calls this."""
        return True

    def secret_properties(self) -> Collection[str]:
        """The properties that are set and are always secret, whatever the manifest says."""
        return ()

    @property
    def holds_secrets(self) -> bool:
        """Whether what this makes on the host may show a secret."""
        return bool(self.secrets)

    def has_same_inputs(self, other: Self) -> bool:  # noqa: ARG002 - most have properties only
        """Whether ``other``, with equal properties, also gets the same from anything else that says what is desired."""
        return True

    @property
    def unconditional(self) -> bool:
        """Whether this does its work once in every run, whatever it finds: then that is no repair of drift."""
        return False

    def run_again(self) -> None:
        """Do once more what is done once in a generation of the manifest: a health check is critical."""
