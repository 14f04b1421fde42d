"""Queries a DNS server, with dnspython on the trio loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dns.asyncresolver
import dns.exception
import dns.resolver
import dns.reversename

from reactor import ResourceError


async def ask(name: str, records: Iterable[str], server: tuple[str, int] | None) -> list[str]:
    """The ``records`` of ``name`` in the notation of goss; empty if the name does not exist.

    Without a ``server`` (address and port), those of /etc/resolv.conf are asked. Raises ResourceError when there is no
    answer, or the server fails or refuses to answer.
    """
    try:
        resolver = dns.asyncresolver.Resolver(configure=server is None)
        if server is not None:
            resolver.nameservers, resolver.port = [server[0]], server[1]
        return [text for record in records for text in await _ask_one(resolver, name, record)]
    except dns.exception.DNSException as error:
        raise ResourceError(str(error)) from error


async def _ask_one(resolver: dns.asyncresolver.Resolver, name: str, record: str) -> list[str]:
    question = dns.reversename.from_address(name) if record == "PTR" else name
    try:
        answer = await resolver.resolve(question, record, search=False, raise_on_no_answer=False)
    except dns.resolver.NXDOMAIN:
        return []
    return [text for data in answer for text in _texts(record, data)]


def _texts(record: str, data: Any) -> list[str]:
    match record:
        case "TXT":
            return [part.decode(errors="backslashreplace") for part in data.strings]
        case "CAA":
            return [f"{data.flags} {data.tag.decode()} {data.value.decode()}"]
        case _:
            return [data.to_text()]
