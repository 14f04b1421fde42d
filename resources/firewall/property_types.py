"""The form of rules, services and addresses in a manifest."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from reactor import matching_text
from reactor.resources.firewall.nft_syntax import check_rule_text
from reactor.resources.ip_networks import IPNetwork, exact_network

CHAINS: Final = ("input", "forward", "output")
VERDICTS: Final = ("accept", "drop", "reject")
PORT_PROTOCOLS: Final = ("tcp", "udp", "sctp", "dccp", "udplite")
PROTOCOLS: Final = {
    "tcp": (6,), "udp": (17,), "sctp": (132,), "dccp": (33,), "udplite": (136,), "icmp": (1, 58), "igmp": (2,),
    "esp": (50,), "ah": (51,), "gre": (47,), "ospf": (89,), "vrrp": (112,),
}  # fmt: skip
"""The numbers of protocols by name. ``icmp`` is that of IPv4 and that of IPv6."""
ANY: Final = "any"
_LAST_PORT: Final = 65535
_PORTS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_LINK: Final = re.compile(r"[A-Za-z0-9_.+@:-]{1,15}\*?")
_LIMIT: Final = re.compile(r"[1-9]\d{0,8}/(second|minute|hour|day)")
_LONGEST_TEXT: Final = 120


class Service(NamedTuple):
    """A protocol, or ``any``; and the first and the last of its ports, or None for all that the protocol has."""

    protocol: str
    ports: tuple[int, int] | None = None


def parse_service(text: str) -> Service:
    """Parse ``tcp/22``, ``tcp/8000-8100``, ``udp/domain``, ``icmp`` or ``any``. Raises ValueError."""
    protocol, slash, ports = text.partition("/")
    if text.isdecimal():
        raise ValueError(f"{text!r} is a port without its protocol: write tcp/{text} or udp/{text}")
    if text == ANY:
        return Service(ANY)
    if protocol not in PROTOCOLS:
        is_turned = ports in PORT_PROTOCOLS and protocol
        meant = f"{ports}/{protocol}" if is_turned else "tcp/22, udp/5000-5010, icmp or any"
        raise ValueError(f"{text!r} is not a service: write {meant}")
    if not slash:
        return Service(protocol)
    if protocol not in PORT_PROTOCOLS:
        raise ValueError(f"{protocol} has no ports: write {protocol} alone")
    return Service(protocol, _parse_ports(protocol, ports))


def _parse_ports(protocol: str, text: str) -> tuple[int, int]:
    if match := _PORTS.fullmatch(text):
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 < first <= last <= _LAST_PORT:
            raise ValueError(f"{text!r} is not a port or a range of ports from 1 to {_LAST_PORT}")
        return first, last
    try:
        found = socket.getservbyname(text, protocol)
    except OSError:
        hint = "write the number of the port, as in tcp/22"
        raise ValueError(f"/etc/services has no service {text!r} of {protocol}: {hint}") from None
    return found, found


def parse_network(text: str) -> IPNetwork:
    """Parse an address or a network. Raises ValueError."""
    refusal = f"{text!r} is not an address or a network: write 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32"
    return exact_network(text, refusal)


def _families(networks: Iterable[str]) -> set[int]:
    return {parse_network(each).version for each in networks}


def _as_list(value: Any) -> Any:
    return [str(value)] if isinstance(value, str | int) and not isinstance(value, bool) else value


def _some(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise ValueError("the list is empty: leave it out, or name one")
    return values


def _check_link(text: str) -> None:
    if not _LINK.fullmatch(text):
        raise ValueError(f"{text!r} is not the name of a link: write eth0, or eth* for all that begin so")


def _check_text(text: str) -> str:
    if not text.isprintable() or '"' in text or "\\" in text or len(text.encode()) > _LONGEST_TEXT:
        words = f"at most {_LONGEST_TEXT} bytes in one line, without quotation marks and backslashes"
        raise ValueError(f"{text!r} can't be written in a rule: {words}")
    return text


def _check_connect(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not (colon and host.strip("[]") and port.isdecimal() and 0 < int(port) <= _LAST_PORT):
        raise ValueError(f"{text!r} is not an address with a port: write 192.0.2.1:22 or [2001:db8::1]:22")
    return text


def _list_checker(check: Callable[[str], object]) -> AfterValidator:
    """A validator of a list of strings that ``check`` accepts."""

    def check_all(texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in _some(texts):
            check(text)
        return texts

    return AfterValidator(check_all)


_SCHEMA: Final = WithJsonSchema(
    {"anyOf": [{"type": ["string", "integer"]}, {"type": "array", "items": {"type": "string"}}]}
)
_LIST: Final = BeforeValidator(_as_list)
Services = Annotated[tuple[str, ...], _LIST, _list_checker(parse_service), _SCHEMA]
"""Services as in `parse_service`; a single one needs no list."""
Networks = Annotated[tuple[str, ...], _LIST, _list_checker(parse_network), _SCHEMA]
"""Addresses and networks."""
Links = Annotated[tuple[str, ...], _LIST, _list_checker(_check_link), _SCHEMA]
"""Names of links, perhaps with an asterisk at the end."""
Text = Annotated[str, Field(min_length=1), AfterValidator(_check_text)]


class _Part(BaseModel):
    """A mapping below the properties. An unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Policy(_Part):
    """The decision about packets that no rule matches. A chain without rules and without a policy is not made."""

    input: Literal["accept", "drop"] | None = "drop"
    """Packets to this host."""
    forward: Literal["accept", "drop"] | None = None
    """Packets through this host, such as those of containers."""
    output: Literal["accept", "drop"] | None = None
    """Packets from this host."""


class Confirm(_Part):
    """How a change proves that it does not cut this host off. Without the proof, it is taken back."""

    seconds: Annotated[int, Field(gt=0, le=3600)] = 30
    """How long to wait for the proof."""
    connect: Annotated[str, AfterValidator(_check_connect)] | None = None
    """A TCP connection to this address and port is the proof. Without it, an administrator removes the file that the run names."""


class Rule(_Part):
    """One rule: exactly one of accept, drop, reject and raw, and the packets that it is about."""

    accept: Services | None = None
    drop: Services | None = None
    reject: Services | None = None
    raw: Annotated[str, AfterValidator(check_rule_text)] | None = None
    chain: Literal["input", "forward", "output"] = "input"
    from_: Networks | None = Field(default=None, alias="from")
    to: Networks | None = None
    in_: Links | None = Field(default=None, alias="in")
    out: Links | None = None
    limit: (
        Annotated[
            str, matching_text(_LIMIT, "is not a limit: write 10/second, 5/minute, 100/hour or 1000/day")
        ]
        | None
    ) = None
    log: Text | None = None
    comment: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_map(cls, value: Any) -> Any:
        if not isinstance(value, str | int):
            return value
        port, _, protocol = str(value).partition("/")
        is_port = port.isdecimal() and protocol in ("", *PORT_PROTOCOLS)
        meant = f"{protocol or 'tcp'}/{port}" if is_port else "tcp/22"
        raise ValueError(f"a rule is a map: write {{accept: {meant}}}")

    @model_validator(mode="after")
    def _is_one_rule(self) -> Rule:
        given = [name for name in (*VERDICTS, "raw") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"a rule has exactly one of accept, drop, reject and raw; this one has {found}")
        if self.raw is not None:
            for name in sorted(self.model_fields_set - {"raw", "chain", "comment"}):
                raise ValueError(f"{name.rstrip('_')} has no effect beside raw: write it in raw")
        if self.from_ and self.to and not _families(self.from_) & _families(self.to):
            raise ValueError("from and to have no address family in common: no packet has both")
        if self.chain == "output" and self.in_ is not None:
            raise ValueError("the chain output has no `in`: its packets come from this host")
        if self.chain == "input" and self.out is not None:
            raise ValueError("the chain input has no `out`: its packets end at this host")
        return self

    @property
    def verdict(self) -> str:
        """accept, drop or reject; only for a rule that is not raw."""
        return next(name for name in VERDICTS if getattr(self, name) is not None)

    @property
    def services(self) -> Iterator[Service]:
        """Its services; only for a rule that is not raw."""
        return map(parse_service, getattr(self, self.verdict))
