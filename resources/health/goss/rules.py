"""The property ``goss_rules``: a gossfile, with its rules by kind and key. Also the rule ``matching``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from reactor import Flag
from reactor.resources.health.goss.dns import DnsRule
from reactor.resources.health.goss.file import FileRule
from reactor.resources.health.goss.http import HttpRule
from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.network import AddrRule, InterfaceRule, PortRule
from reactor.resources.health.goss.rule import Rule, hyphenated
from reactor.resources.health.goss.software import CommandRule, PackageRule, ProcessRule, ServiceRule
from reactor.resources.health.goss.system import GroupRule, KernelParamRule, MountRule, UserRule

_Rule = TypeVar("_Rule", bound=Rule)


class MatchingRule(Rule):
    """A value in the manifest, usually from an expression, and the expectation for it."""

    content: Any
    matches: Expected

    async def find(self, key: str) -> Mapping[str, Any]:  # noqa: ARG002 - the key is only a label
        """Return the value of the manifest."""
        return {"matches": self.content}


def _check_keys(rules: Mapping[str, _Rule]) -> Mapping[str, _Rule]:
    """Return ``rules``. Raises ValidationError, with the location, for each key that is invalid for its rule."""
    problems = []
    for key, rule in rules.items():
        try:
            rule.check_key(key)
        except ValueError as error:
            kind = PydanticCustomError("key", "{problem}", {"problem": str(error)})
            problems.append(InitErrorDetails(type=kind, loc=(key,), input=key))
    if problems:
        raise ValidationError.from_exception_data("rules", problems)
    return rules


Keyed = Annotated[Mapping[str, _Rule], AfterValidator(_check_keys)]
"""Rules of one kind, by key. The key names what the rule examines, unless a property does."""


class Gossfile(BaseModel):
    """A file with further rules, or several by a pattern."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str | None = None
    """The path or pattern, relative to the directory of the including file; by default the key."""
    skip: Flag = False
    """Skip the file."""


class Rules(BaseModel):
    """The content of a gossfile."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=hyphenated)

    addr: Keyed[AddrRule] = Field(default_factory=dict)
    command: Keyed[CommandRule] = Field(default_factory=dict)
    dns: Keyed[DnsRule] = Field(default_factory=dict)
    file: Keyed[FileRule] = Field(default_factory=dict)
    gossfile: Mapping[str, Gossfile] = Field(default_factory=dict)
    group: Keyed[GroupRule] = Field(default_factory=dict)
    http: Keyed[HttpRule] = Field(default_factory=dict)
    interface: Keyed[InterfaceRule] = Field(default_factory=dict)
    kernel_param: Keyed[KernelParamRule] = Field(default_factory=dict)
    matching: Keyed[MatchingRule] = Field(default_factory=dict)
    mount: Keyed[MountRule] = Field(default_factory=dict)
    package: Keyed[PackageRule] = Field(default_factory=dict)
    port: Keyed[PortRule] = Field(default_factory=dict)
    process: Keyed[ProcessRule] = Field(default_factory=dict)
    service: Keyed[ServiceRule] = Field(default_factory=dict)
    user: Keyed[UserRule] = Field(default_factory=dict)

    def all(self) -> Iterator[tuple[str, str, Rule]]:
        """Every rule of this file, as its kind, key and rule."""
        for field in (name for name in type(self).model_fields if name != "gossfile"):
            for key, rule in getattr(self, field).items():
                yield hyphenated(field), key, rule
