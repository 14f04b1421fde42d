"""The base of every kind: the properties all resources share, and the methods that a kind implements."""

# No `from __future__ import annotations`: pydantic would compile the text of each annotation, again for each subclass.

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Self

from pydantic import Field, model_validator

from reactor.resource.class_defaults import SharedDefaults, remove_defaults
from reactor.resource.common_properties import DEFAULT_META, Control, Meta, Registration, Slot, Subscriptions
from reactor.resource.declared import Declared
from reactor.resource.diagnostic import InvalidPropertiesError, PropertyProblem
from reactor.resource.health import HealthCheck
from reactor.resource.plan import Plan, ResourceError
from reactor.resource.presentation import Presentation
from reactor.resource.property_types import References
from reactor.resource.relations import (
    NO_RELATIONS,
    Claim,
    Contradiction,
    Exclusion,
    Relations,
    SandboxAccess,
    TemplateSource,
)
from reactor.resource.watch import Watch
from reactor.suggestions import did_you_mean

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from reactor.resource.relations import PathState

    State = TypeVar("State", default=Any)

    class _TypedByState(Generic[State]):
        """The type of the state that a kind observes, for the type checker."""

else:
    State = Any

    class _TypedByState:
        """``Resource[State]`` is just `Resource` at run time: pydantic would build a generic model for each kind."""

        def __class_getitem__(cls, state: Any) -> type:
            return cls


class Resource(_TypedByState[State], Presentation, SharedDefaults, ABC):
    """One thing on the host with a desired state.

    A kind is a subclass: ``class File(Resource[FileState], kind="file")``, where ``FileState`` is the state that it
    observes. Its fields are its properties. It implements `watches`, `observe` and `plan`, and any other of these
    methods that it needs; the engine does the rest. Do not use the result of an earlier `observe` for a later
    decision, except for a stamp that proves that the host has not changed since.
    """

    kind: ClassVar[str]
    providers: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""
    """An example of the arguments of ``reactor ensure KIND``, for its help."""
    needed_to_show: ClassVar[frozenset[str]] = frozenset()
    """The properties of the example, besides the required ones, without which ``reactor show KIND`` is an error."""
    may_undo: ClassVar[frozenset[str]] = frozenset()
    """Kinds that a change of this kind may undo as a side effect: a run that ends checks their resources once more."""
    may_overwrite: ClassVar[frozenset[str]] = frozenset()
    """The same for kinds that can't undo this one in turn: what it has undone is repaired before the run ends."""
    provides_more: ClassVar[bool] = False
    """Whether it may provide more than `relations` lists, as a package does: a dry run can't tell what will be missing."""
    provides_only_its_own: ClassVar[bool] = False
    """Whether it brings only the accounts and paths that `relations` provides, and the paths that `sandbox_access` names."""
    has_moving_watches: ClassVar[bool] = False
    """Whether `watches` depends on the host, such as on the home of a user: it is asked again after each check."""
    grouped_as: ClassVar[str] = ""
    """Kinds that share one `apply_group` may share their groups, too: those with an equal name here."""
    deferred_properties: ClassVar[frozenset[str]] = frozenset()
    """Properties whose expressions are evaluated when the resource is checked, not when the manifest is loaded."""

    name: Annotated[str, Field(min_length=1)]
    """What the resource manages; for a file, its path."""
    ensure: str
    """The desired state."""
    alias: Annotated[str, Field(min_length=1)] | None = None
    """A second name by which others can refer to it."""
    provider: str | None = None
    """Which implementation of the kind to use; by default the one that fits the host."""
    require: References = ()
    """Resources that must be ok first."""
    subscribe: Subscriptions = ()
    """As ``require``; in addition, a change of these resources refreshes this one."""
    after: References = ()
    """Order only: these go first if they have work; their failure does not block."""
    control: Control | None = None
    """Expressions that decide whether it is managed on this host."""
    health_checks: tuple[HealthCheck, ...] = ()
    """Commands and goss rules that test whether the resource works."""
    register_when_stable: tuple[Registration, ...] = ()
    """CCM's service registrations. A run with ``--registration`` publishes them."""
    slot: Slot | None = None
    """Take a slot of the fleet before changing anything: it limits how many hosts change at once."""
    meta: Meta = DEFAULT_META
    """How the engine treats it."""

    def __init_subclass__(cls, *, kind: str = "", providers: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        remove_defaults(cls)
        if kind:
            cls.kind = kind
            cls.providers = providers

    @cached_property
    def declared(self) -> Declared:
        """What the manifest and the graph know about this resource. Set by `reactor.resource.declared.declare`."""
        return Declared(f"{self.kind}#{self.name}")

    @classmethod
    def is_label(cls, properties: Collection[str]) -> bool:  # noqa: ARG003 - most names name something
        """Whether the name only labels a resource that has these ``properties``: two roles may use the same name then.

        In the graph, that of a role is before it, as in ``exec#web/reload``.
        """
        return False

    @property
    def ref(self) -> str:
        """The identity in the graph: ``kind#name``, with a number after it where names repeat."""
        return self.declared.ref

    @property
    def secrets(self) -> frozenset[str]:
        """The properties whose values must not be shown: those the manifest marks, and those the kind names."""
        return self.declared.secrets.union(self.secret_properties())

    @model_validator(mode="after")
    def _reject_conflicts(self) -> Self:
        if problems := list(self.property_problems()):
            raise InvalidPropertiesError(problems)
        return self

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Problems of the combination of properties. A kind extends it: ``yield from super()...``."""
        if self.provider is not None and self.provider not in self.providers:
            hint = did_you_mean(self.provider, self.providers) or f"providers: {', '.join(self.providers)}"
            yield PropertyProblem(("provider",), f"{self.kind} has no provider {self.provider!r}", hint)
        if self.meta.reverse and type(self).reversal is Resource.reversal:
            hint = "remove reverse: a resource that leaves the manifest then stays as it is"
            yield PropertyProblem(("meta", "reverse"), f"{self.kind} can't be undone", hint)

    def warnings(self) -> Iterable[PropertyProblem]:
        """Properties that are allowed but most likely a mistake. The manifest is valid; the user sees the warnings."""
        return ()

    def watches(self) -> Iterable[Watch]:
        """What could make this resource drift, as declarations."""
        return ()

    @abstractmethod
    async def observe(self) -> State:
        """Read the host and return the state found; change nothing. Raises ResourceError or OSError if it can't be read."""

    @abstractmethod
    def plan(self, state: State, *, refresh: bool) -> Plan:
        """The actions that lead from ``state`` to the desired state; none if it is as desired.

        Pure: same state, same plan. ``refresh`` is True when something this resource subscribes to has changed. Raises
        ResourceError when the desired state can't be reached from ``state``.
        """

    async def verify(self) -> Plan:
        """The actions that are still needed after an apply. If there are any, the check fails."""
        return self.plan(await self.observe(), refresh=False)

    async def preflight(self, state: State) -> None:
        """Raise the ResourceError with which a change from ``state`` would fail, if a closer look can find that out.

        Called only by a dry run (noop), if something would be changed. May take longer than `observe`; changes nothing.
        """

    def consequences(self, changed: Collection[str]) -> Sequence[str]:  # noqa: ARG002 - most have none
        """Sentences about what this resource would do after a change of the paths or accounts ``changed``.

        Called only by a dry run (noop): in a real run, `observe` sees the changes.
        """
        return ()

    def undecided_by(self, changed: Collection[str]) -> str | None:  # noqa: ARG002 - most look at the host themselves
        """The path of ``changed`` that may decide otherwise, after a change, than in the last `observe`; None if there is none.

        Called only by a dry run (noop), for a resource that has nothing to do, with what would be changed before.
        """
        return None

    def group_key(self) -> Hashable | None:
        """Resources with equal keys that are ready at the same time are applied together.

        They are of one kind, or of kinds with one `grouped_as`. None: always alone. A key never changes. Applying one
        resource may change others of its group: a run without watches checks all of them once more at its end.
        """
        return None

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> Mapping[str, ResourceError]:
        """Bring all ``members``, which have equal keys, to their desired states at once.

        Replaces their plans. Returns the errors of single members by ref. Raises ResourceError or OSError when the
        apply failed and the members that caused it are unknown. Then the engine takes the members that are not as
        desired yet, without those that a GroupError names, and retries them in two halves. In any case, each member is
        verified by itself afterwards.
        """
        raise NotImplementedError

    @classmethod
    def all_as_desired(cls, members: Sequence[Self], evidence: object) -> object:  # noqa: ARG003 - as above
        """The evidence of one look that all ``members``, which have equal group keys, are as desired. Never waits.

        ``evidence`` is from the look before at the same members: where this one finds the same, nothing needs to be
        compared. None if some differ, or if it would have to wait: then each is checked by itself.
        """
        return None

    async def reversal(self, state: State) -> "Resource":
        """The resource that undoes this one: of the same kind and name, with ``state`` as its desired state.

        For ``meta: {reverse: true}``; without this method, no undoing. The engine calls it once, with what `observe`
        found before the first change, and stores the result; see `is_undone_by`. When this has left the manifest, that
        is checked like any other. `keep_for_undo` stores big content. Raises ResourceError if it can't be restored.
        """
        raise NotImplementedError

    def is_undone_by(self, recorded: Self) -> bool | None:  # noqa: ARG002 - as above
        """Whether the stored reversal has all that this changes. If not, as after an edit, the rest is added to it.

        None: this manages another thing since an edit. Then it fails: only the former one would be restored.
        """
        return True

    async def outputs(self) -> Mapping[str, Any] | None:
        """The values that expressions of other resources may use once this one is as desired.

        None if there are none yet. The default is the result of `describe`.
        """
        return await self.describe()

    def relations(self) -> Relations:
        """The paths and accounts that this provides, removes, clears and depends on. Automatic edges follow from them."""
        return NO_RELATIONS

    def claims(self) -> Iterable[Claim]:
        """The claims on things that another resource may claim too. Contradictory claims make the manifest invalid."""
        return ()

    def excludes(self) -> Iterable[Exclusion]:
        """The spaces in which other resources must not claim anything. If one does, the manifest is invalid."""
        return ()

    @classmethod
    def contradictions(cls, members: Sequence[Self]) -> Iterable[Contradiction]:  # noqa: ARG003 - most have none
        """The pairs of ``members``, all with one group key, that can't both be as desired: an invalid manifest."""
        return ()

    def source_files(self) -> Collection[str]:
        """Absolute paths of files that define the desired state. A change of one is reported as an edit, not as drift.

        A path that ends with a slash means everything in that directory.
        """
        return ()

    def template_sources(self) -> Iterable[TemplateSource]:
        """The templates that this renders, as far as they exist. Raises ResourceError if they can't be read."""
        return ()

    def lasting_state(self) -> "Sequence[PathState] | None":
        """The states of paths with which every check finds this as desired, unless a refresh is due. None if there are none."""
        return None

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """What the service's sandbox must allow: a `SandboxAccess`, or an absolute path that this writes.

        The default is everything. Work that another service does on a request over its bus or socket needs no access.
        """
        return (SandboxAccess.ANYTHING,)

    def might_provide(self, missing: str) -> bool:
        """Whether applying this may provide what a `ResourceError` names as ``missing``. Only a dry run (noop) asks.

        By default, everything; with `provides_only_its_own`, a path above or below its own, or an account of its own.
        """
        if not self.provides_only_its_own or not missing.startswith(("/", "user#", "group#")):
            return True
        provided = self.relations().provides
        if not missing.startswith("/"):
            return missing in provided
        own = [f"{path}/" for path in (*provided, *self.sandbox_access()) if isinstance(path, str)]
        return any(path.startswith(f"{missing}/") or f"{missing}/".startswith(path) for path in own)

    def secret_properties(self) -> Collection[str]:
        """The properties that are set and always secret, whatever the manifest says."""
        return ()

    @property
    def holds_secrets(self) -> bool:
        """Whether what this creates on the host may show a secret."""
        return bool(self.secrets)

    @property
    def needs_job(self) -> bool:
        """Whether a check may take long, as that of a command: so it takes one of the ``jobs`` of a run."""
        return True

    def has_same_inputs(self, other: Self) -> bool:  # noqa: ARG002 - most have properties only
        """Whether ``other``, with equal properties, also gets the same from all other sources of the desired state."""
        return True

    def inputs_digest(self) -> bytes:
        """A digest of what the manifest gives besides properties, such as the data of a template; empty if nothing.

        The next process tells an edit from drift by it. `has_same_inputs` may compare more: what the host gives.
        """
        return b""

    @property
    def unconditional(self) -> bool:
        """Whether this does its work once in every run, whatever the state. Such work is not a repair of drift."""
        return False

    def run_again(self) -> None:
        """For a full check or a critical health check: repeat what is done once in a run, and trust no stamp."""
