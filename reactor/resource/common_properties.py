"""The types of the properties that all kinds share, such as ``subscribe``, ``control``, ``slot`` and ``meta``."""

# No `from __future__ import annotations` here: pydantic would compile each annotation from its text, and again for each
# class that inherits it.

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from reactor.resource.property_types import (
    Duration,
    Flag,
    FrozenModel,
    Rate,
    Reference,
    Semaphores,
    matching_text,
)


class RefreshDebounce(FrozenModel):
    """How long a refresh waits for further ones, so that a burst of changes leads to one refresh."""

    calm: Annotated[Duration, Field(gt=0, alias="for")]
    """Wait until nothing that is subscribed to has changed for this long."""
    at_most: Annotated[Duration, Field(gt=0)] = 30.0
    """Wait no longer than this after the first change."""


class Subscription(FrozenModel):
    """A reference with its own ``quiet``, written ``kind#name: {quiet: {for: 2s}}``."""

    ref: Reference
    quiet: RefreshDebounce


_EXAMPLE = "file#/etc/motd: {quiet: {for: 2s}}"


def _with_ref(item: Any) -> Any:
    """Convert ``{kind#name: {quiet: ...}}`` to the fields of a `Subscription`."""
    if not isinstance(item, dict) or item.keys() == Subscription.model_fields.keys():
        return item
    if len(item) == 1:
        [(ref, properties)] = item.items()
        if isinstance(properties, dict):
            return {"ref": ref, **properties}
    raise ValueError(f"a map here is one reference with its 'quiet', as in {_EXAMPLE}")


def _form(item: Any) -> str:
    return "edge" if isinstance(item, (dict, Subscription)) else "ref"


def _as_list(value: Any) -> Any:
    return [_with_ref(item) for item in (value if isinstance(value, (list, tuple)) else [value])]


_PLAIN = {"type": "string", "pattern": "^[^#]+#"}
_ITEM = {
    "anyOf": [
        _PLAIN,
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {
                "type": "object",
                "properties": {"quiet": {"type": "object"}},
                "required": ["quiet"],
                "additionalProperties": False,
            },
        },
    ]
}

Subscriptions = Annotated[
    tuple[
        Annotated[
            Annotated[Reference, Tag("ref")] | Annotated[Subscription, Tag("edge")], Discriminator(_form)
        ],
        ...,
    ],
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [_ITEM, {"type": "array", "items": _ITEM}]}),
]
"""A list of references, each optionally with a ``quiet``; a single reference needs no list."""

Condition = Annotated[str, Field(min_length=1)]
"""An expression without braces that is true or false: ``Facts.host.info.platformFamily == 'debian'``."""


class Control(FrozenModel):
    """Conditions of a resource. A resource that is not managed counts as ok for resources that require it."""

    if_: Condition | None = Field(default=None, alias="if")
    """Manage the resource only while this is true."""
    unless: Condition | None = None
    """Do not manage the resource while this is true."""


class Meta(FrozenModel):
    """How the engine treats a resource, whatever its kind."""

    noop: Flag = False
    """Only report what would be done, as in a dry run."""
    mode: Literal["enforce", "warn"] = "enforce"
    """``warn``: never change anything. Differences are reported as with ``noop``."""
    monitor_only: Flag = False
    """Only run the health checks."""
    quiet: RefreshDebounce | None = None
    """Combine refreshes: ``{for: 2s, at_most: 30s}``. Without it, each is made at once."""
    reverse: Flag = False
    """Undo it when it leaves the manifest: restore what was there before."""
    retry: Annotated[int, Field(ge=-1)] | None = None
    """Further attempts after a failure; -1 is unlimited. Unset: unlimited, or none with --converge-once."""
    delay: Annotated[Duration, Field(gt=0)] = 1.0
    """Wait before the first retry; later waits grow from it."""
    timeout: Annotated[Duration, Field(gt=0)] | None = None
    """The longest time that one check may take."""
    poll: Annotated[Duration, Field(gt=0)] | None = None
    """Check this often in addition, for things that send no events."""
    limit: Rate | None = None
    """The highest rate of checks; faster ones wait and are merged."""
    semaphores: Semaphores = ()
    """Names, or ``name:count``: resources that share one run one at a time, or ``count`` at a time."""
    now: Literal["load", "audit"] = "load"
    """The time that ``now()`` returns: that of the loading of the manifest, or that of the last audit."""
    automatic_edges: Flag = True
    """Whether the program may add ``require`` edges that it finds by itself."""

    @property
    def is_read_only(self) -> bool:
        """Whether nothing may be changed: the engine treats ``noop`` and ``mode: warn`` alike."""
        return self.noop or self.mode == "warn"


SLOT_NAME = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
"""A name of slots: a token of a subject of NATS."""


class Slot(FrozenModel):
    """Limits how many hosts of a fleet change resources with this slot at the same time."""

    name: Annotated[
        str,
        matching_text(
            SLOT_NAME,
            "is not a valid name: only a-z, 0-9 and - are allowed, at most 63, and - not at an end",
        ),
        WithJsonSchema({"type": "string", "pattern": f"^{SLOT_NAME}$"}),
    ]
    """What is counted: all resources with this name, on all hosts."""
    at_most: Annotated[int, Field(ge=1, le=1000)] = 1
    """How many may be changed at the same time."""
    lease: Annotated[Duration, Field(ge=3)] = 300.0
    """The slot is free again so long after its holder has died or lost the network."""
    per: Literal["fleet", "group"] = "fleet"
    """``group``: each group of hosts has slots of its own."""
    keep_on_failure: Flag = False
    """A host on which the change failed keeps the slot until the lease ends, and so stops the others."""
    offline: Literal["wait", "proceed"] = "wait"
    """What happens when the servers of the fleet can't be reached, or the host belongs to no fleet."""


DEFAULT_META = Meta.model_construct()
"""The one object that all resources without their own ``meta`` share."""

_NAME = r"[a-zA-Z][a-zA-Z0-9_-]*"


def _check_address(text: str) -> str:
    from ipaddress import ip_address  # noqa: PLC0415 - few manifests register anything

    try:
        ip_address(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address: write it as 192.0.2.1 or 2001:db8::1") from None
    return text


def _check_number(value: Any) -> Any:
    """A number, or a string with a number, which an expression may give."""
    if isinstance(value, str) and not value.strip().isdecimal():
        raise ValueError(f"it must be a whole number, not {value!r}")
    return value


def _check_ttl(value: Any, parse: ValidatorFunctionWrapHandler) -> Any:
    """One error instead of one for each of the types."""
    try:
        return parse(value)
    except ValidationError:
        raise ValueError(f"{value!r} is not a duration such as 30s, nor never") from None


Name = Annotated[
    str,
    matching_text(_NAME, "is not a valid name: start with a letter, go on with letters, digits, _ and -"),
    WithJsonSchema({"type": "string", "pattern": f"^{_NAME}$"}),
]
"""A letter, followed by letters, digits, ``_`` and ``-``."""


class Registration(FrozenModel):
    """One service that is offered at one address."""

    cluster: Name
    service: Name
    protocol: Name
    address: Annotated[str, AfterValidator(_check_address)]
    """An IP address, version 4 or 6."""
    port: Annotated[int, BeforeValidator(_check_number), Field(ge=1, le=65535)]
    priority: Annotated[int, BeforeValidator(_check_number), Field(ge=1, le=255)]
    annotations: Annotated[dict[str, str], Field(default_factory=dict)]
    """Further information about the service."""
    ttl: Annotated[Duration | Literal["never"] | None, WrapValidator(_check_ttl)] = None
    """How long the entry is valid."""
