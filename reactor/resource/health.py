"""Whether a resource does its work, beyond being as desired: the property ``health_checks``.

How a check looks is a runner's business. There is one behind each of `RUNNERS`, found through an entry point of the
same name, so that nothing here knows what a command or a goss rule is.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Protocol, Self

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from reactor.resource.entry_points import installed_entry_points
from reactor.resource.properties import Duration, FrozenModel

HEALTH_GROUP = "reactor.health"
RUNNERS = {"command": "nagios", "goss_rules": "goss"}
"""The properties that say how to look, and the format of each."""


class HealthStatus(StrEnum):
    """What a check says, in the words and the order of Nagios: its exit codes count through them."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


class HealthResult(NamedTuple):
    """The answer to one look; ``output`` is for people."""

    status: HealthStatus
    output: str


class Examination(NamedTuple):
    """How one health check answered in the end, after how many ``tries``; ``duration`` is seconds over all of them."""

    name: str
    status: HealthStatus
    output: str
    tries: int
    duration: float


Health = tuple[Examination, ...]
"""The answers of all health checks of a resource, in their order."""


class HealthRunner(Protocol):
    """One way to look. The entry point leads to its class, which is made without arguments, once."""

    takes: Any
    """The type of the property's value, for pydantic to check."""

    def describe(self, value: Any) -> str:
        """A short name for a check that has none."""

    async def examine(self, value: Any) -> HealthResult:
        """Look once. Changes nothing, and may be cancelled at any time; an exception means that there is no answer."""


@cache
def find_runner(name: str) -> HealthRunner:
    """The runner behind the property ``name``. Raises KeyError when it is not installed."""
    runner: HealthRunner = installed_entry_points(HEALTH_GROUP)[name].load()()
    return runner


class TakenBy(NamedTuple):
    """Marks a property with the type that a runner takes. It is looked up when there is such a value, not before."""

    runner: str

    @property
    def type(self) -> Any:
        """The type of the property's value."""
        return find_runner(self.runner).takes

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: _adapter(self.runner).validate_python(value)
        )

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(_adapter(self.runner).core_schema)


@cache
def _adapter(runner: str) -> TypeAdapter[Any]:
    return TypeAdapter(find_runner(runner).takes)


class HealthCheck(FrozenModel):
    """One look at a resource after it was checked. Anything but ``ok`` fails the resource, which is then retried."""

    command: Annotated[Any, TakenBy("command")] = None
    """A command that ends as Nagios plugins do: 0 is ok, 1 a warning, 2 critical, anything else unknown."""
    goss_rules: Annotated[Any, TakenBy("goss_rules")] = None
    """Rules of goss: ok when all hold, otherwise critical."""
    format: Literal["nagios", "goss"] | None = None
    """What the two above imply; accepted because CCM has it."""
    name: str = ""
    """What reports call the check; by default the command without its directory, or ``goss``."""
    tries: Annotated[int, Field(ge=1)] = 1
    """Look so often before the answer counts, or until it is ok."""
    try_sleep: Duration = 1.0
    """Wait between two tries."""
    timeout: Duration = 0.0
    """Longest time one try may take; then the answer is unknown. 0 is no limit."""
    interval: Annotated[Duration, Field(gt=0)] | None = None
    """Check the resource, and look, this often as well, while reactor stays to watch."""
    on_critical: Literal["check", "refresh", "none"] = "check"
    """What to do when the answer is critical: check the resource again, also refresh it, or only report."""

    @model_validator(mode="after")
    def _say_how(self) -> Self:
        """The words are those of CCM."""
        given = [name for name in RUNNERS if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError("'command' or 'goss_rules' are mutually exclusive: make them two health checks")
        if not given:
            raise ValueError("a health check needs 'command' or 'goss_rules'")
        if self.format not in (None, RUNNERS[given[0]]):
            raise ValueError(f"'format' must be '{RUNNERS[given[0]]}' when using '{given[0]}': remove it")
        return self

    @property
    def method(self) -> tuple[str, Any]:
        """The runner's name, and the value for it."""
        name = "goss_rules" if self.command is None else "command"
        return name, getattr(self, name)

    @property
    def label(self) -> str:
        """What reports call it."""
        name, value = self.method
        return self.name or find_runner(name).describe(value)
