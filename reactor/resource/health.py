"""Whether a resource works, beyond being as desired: the property ``health_checks``.

A runner knows how to do a check. There is one for each of `RUNNERS`, found through an entry point of the same name, so
that this module does not depend on commands or goss rules.
"""

# No `from __future__ import annotations` here: pydantic would compile each annotation from its text, and again for each
# class that inherits it.

from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from reactor.named_tuple import NamedTuple
from reactor.resource.entry_points import installed_entry_points
from reactor.resource.property_types import Duration, FrozenModel

HEALTH_GROUP = "reactor.health"
RUNNERS = {"command": "nagios", "goss_rules": "goss"}
"""The properties that say how to check, and the format of each."""


class HealthStatus(StrEnum):
    """The result of a check, in the words and the order of Nagios: the index is the exit code."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


class HealthResult(NamedTuple):
    """The result of one attempt; ``output`` is for people to read."""

    status: HealthStatus
    output: str


class Examination(NamedTuple):
    """The final result of one health check after ``tries`` attempts; ``duration`` is seconds for all of them."""

    name: str
    status: HealthStatus
    output: str
    tries: int
    duration: float


Health = tuple[Examination, ...]
"""The results of all health checks of a resource, in order."""


class HealthRunner(Protocol):
    """One way to check. The entry point refers to its class, which is instantiated once, without arguments."""

    takes: Any
    """The type of the property's value, which pydantic validates."""

    def describe(self, value: Any) -> str:
        """A short name for a check that has no ``name``."""

    async def examine(self, value: Any) -> HealthResult:
        """Check once. Changes nothing, and may be cancelled at any time. An exception means that there is no result."""


@cache
def find_runner(name: str) -> HealthRunner:
    """The runner for the property ``name``. Raises KeyError when it is not installed."""
    runner: HealthRunner = installed_entry_points(HEALTH_GROUP)[name].load()()
    return runner


class TakenBy(NamedTuple):
    """Marks a property with the type that a runner accepts. The type is looked up when a value needs it, not before."""

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
    """A test that runs after each check of a resource.

    Any result but ``ok`` fails the resource, which is then retried.
    """

    command: Annotated[Any, TakenBy("command")] = None
    """A command with the exit codes of Nagios plugins: 0 is ok, 1 a warning, 2 critical, anything else unknown."""
    goss_rules: Annotated[Any, TakenBy("goss_rules")] = None
    """Goss rules: ok if all of them hold, otherwise critical."""
    format: Literal["nagios", "goss"] | None = None
    """Implied by the two properties above; accepted because CCM has it."""
    name: str = ""
    """The name of the check in reports; by default the command without its directory, or ``goss``."""
    tries: Annotated[int, Field(ge=1)] = 1
    """How many attempts before the result counts; the first ok ends them."""
    try_sleep: Duration = 1.0
    """The wait between two attempts."""
    timeout: Duration = 300.0
    """The longest time that one attempt may take; then the result is unknown. 0 is no limit."""
    interval: Annotated[Duration, Field(gt=0)] | None = None
    """Check the resource and its health this often in addition, while reactor keeps watching."""
    on_critical: Literal["check", "refresh", "none"] = "check"
    """What to do when the result is critical: check the resource again, also refresh it, or only report."""

    @model_validator(mode="after")
    def _check_definition(self) -> Self:
        """Check that exactly one way to check is given, in a format that fits. The messages are like those of CCM."""
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
        """The name of the runner, and the value for it."""
        name = "goss_rules" if self.command is None else "command"
        return name, getattr(self, name)

    @property
    def label(self) -> str:
        """The name of the check in reports."""
        name, value = self.method
        return self.name or find_runner(name).describe(value)
