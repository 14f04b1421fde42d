"""Writes the file for nft that replaces our table in one transaction."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from reactor.resources.firewall.property_types import (
    ANY,
    CHAINS,
    PROTOCOLS,
    Policy,
    Rule,
    Service,
    parse_network,
)
from reactor.resources.ip_networks import IPNetwork

_ESTABLISHED: Final = "ct state established,related accept"
_NEIGHBOURS: Final = "icmpv6 type { mld-listener-query, nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } accept"
"""Without these, IPv6 finds neither its router nor its neighbours."""
_DHCPV6: Final = "ip6 saddr fe80::/10 udp dport 546 accept"
"""The answer to a question that went to a group, so it belongs to no established connection."""
_BASICS: Final[Mapping[str, tuple[str, ...]]] = {
    "input": (_ESTABLISHED, 'iifname "lo" accept', _NEIGHBOURS, _DHCPV6),
    "forward": (_ESTABLISHED,),
    "output": (_ESTABLISHED, 'oifname "lo" accept', _NEIGHBOURS),
}


class Line(NamedTuple):
    """One line of the file. ``rule`` is the index of the rule that it is of, None for others."""

    text: str
    rule: int | None = None


def removal(table: str) -> str:
    """The commands that remove the table, whether it exists or not."""
    return f"add table inet {table}\ndelete table inet {table}\n"


def ruleset(
    table: str, policy: Policy, rules: Sequence[Rule], declarations: str, *, basics: bool
) -> list[Line]:
    """The lines of the file. Chains without rules and without a policy are left out."""
    lines = [*map(Line, removal(table).splitlines()), Line(f"table inet {table} {{")]
    lines += [Line(f"\t{line}") for line in declarations.splitlines()]
    for chain in CHAINS:
        wanted = getattr(policy, chain)
        own = [(index, rule) for index, rule in enumerate(rules) if rule.chain == chain]
        if wanted is None and not own:
            continue
        lines.append(Line(f"\tchain {chain} {{"))
        hook = f"type filter hook {chain} priority filter; policy {wanted or 'accept'};"
        lines += [Line(f"\t\t{text}") for text in (hook, *(_BASICS[chain] if basics else ()))]
        lines += [Line(f"\t\t{text}", index) for index, rule in own for text in rule_lines(rule)]
        lines.append(Line("\t}"))
    return [*lines, Line("}")]


def rule_lines(rule: Rule) -> Iterator[str]:
    """The rule in the syntax of nft: one line for each protocol, and for IPv4 and IPv6 where addresses are named."""
    comment = f' comment "{rule.comment}"' if rule.comment else ""
    if rule.raw is not None:
        yield f"{rule.raw.strip()}{comment}"
        return
    end = [f"limit rate {rule.limit}"] if rule.limit else []
    end += [f'log prefix "{rule.log}"'] if rule.log else []
    end.append(f"{rule.verdict}{comment}")
    links = [*_names("iifname", rule.in_), *_names("oifname", rule.out)]
    addresses = list(_by_family(rule.from_ or (), rule.to or ()))
    for where, service in product(addresses, _services(rule.services)):
        yield " ".join([*links, *where, *service, *end])


def _names(match: str, links: Sequence[str] | None) -> Iterator[str]:
    if links:
        quoted = sorted({f'"{link}"' for link in links})
        yield f"{match} {_set(quoted)}"


def _by_family(sources: Sequence[str], targets: Sequence[str]) -> Iterator[list[str]]:
    """The matches of addresses, for IPv4 and for IPv6. A family that only one side names can't be matched."""
    if not sources and not targets:
        yield []
    for version, protocol in ((4, "ip"), (6, "ip6")):
        found = [_networks(names, version) for names in (sources, targets)]
        if any(names and not networks for names, networks in zip((sources, targets), found, strict=True)):
            continue
        pairs = zip(("saddr", "daddr"), found, strict=True)
        if matches := [f"{protocol} {side} {_set(networks)}" for side, networks in pairs if networks]:
            yield matches


def _networks(names: Sequence[str], version: int) -> list[str]:
    """The networks of one family. Networks within another one are left out: nft refuses overlaps."""
    found: list[IPNetwork] = [each for each in map(parse_network, names) if each.version == version]
    return [_short(each) for each in ipaddress.collapse_addresses(found)]  # type: ignore[type-var]  # of one family


def _short(network: IPNetwork) -> str:
    alone = network.prefixlen == network.max_prefixlen
    return str(network.network_address if alone else network)


def _services(services: Iterable[Service]) -> Iterator[list[str]]:
    """The matches of services: one for each protocol with ports, and one for all protocols without."""
    ports: dict[str, list[tuple[int, int]]] = {}
    numbers: set[int] = set()
    for service in services:
        if service.protocol == ANY:
            yield []
            return
        if service.ports is None:
            numbers.update(PROTOCOLS[service.protocol])
        else:
            ports.setdefault(service.protocol, []).append(service.ports)
    for protocol, ranges in ports.items():
        if numbers.isdisjoint(PROTOCOLS[protocol]):
            yield [f"{protocol} dport {_set(_merged(ranges))}"]
    if numbers:
        yield [f"meta l4proto {_set(sorted(numbers))}"]


def _merged(ranges: Iterable[tuple[int, int]]) -> list[str]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return [str(first) if first == last else f"{first}-{last}" for first, last in merged]


def _set(values: Sequence[object]) -> str:
    return str(values[0]) if len(values) == 1 else f"{{ {', '.join(map(str, values))} }}"
