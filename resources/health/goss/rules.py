"""All of ``goss_rules``: rules by their kind and key."""

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
    """A value and what is expected of it."""

    content: Any
    matches: Expected

    async def find(self, key: str) -> Mapping[str, Any]:  # noqa: ARG002 - the key is only a name
        """Nothing is to be looked for."""
        return {"matches": self.content}


def _check_keys(rules: Mapping[str, _Rule]) -> Mapping[str, _Rule]:
    """``rules`` as they are. Raises ValidationError for each key that its rule can't take, at the key."""
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
"""Rules of one kind. Their keys name what they look at, unless they have a property for that."""


class Gossfile(BaseModel):
    """A file of further rules, or several by a pattern."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str | None = None
    """The path or pattern, from the directory of the file that names it; by default the key."""
    skip: Flag = False
    """Leave it out."""


class Rules(BaseModel):
    """What goss calls a gossfile."""

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
        """Every rule that is written here, with its kind and its key."""
        for field in (name for name in type(self).model_fields if name != "gossfile"):
            for key, rule in getattr(self, field).items():
                yield hyphenated(field), key, rule
