"""A DNS server on loopback with a few records of every type."""

from contextlib import asynccontextmanager

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.zone
import trio

ZONE = dns.zone.from_text(
    """
$TTL 60
@ SOA ns1 admin 1 60 60 60 60
@ NS ns1
@ MX 10 mail
@ TXT "v=spf1 -all"
@ CAA 0 issue "letsencrypt.org"
ns1 A 192.0.2.1
www A 192.0.2.80
www AAAA 2001:db8::80
alias CNAME www
_https._tcp SRV 0 5 443 www
""",
    origin="example.test.",
    relativize=False,
)
REVERSE = {"80.2.0.192.in-addr.arpa.": "www.example.test."}
SILENT = "silent.example.test."
"""A name that is never answered."""


def answer(wire):
    """The answer to a question on the wire; None for silence."""
    query = dns.message.from_wire(wire)
    [question] = query.question
    if question.name.to_text() == SILENT:
        return None
    response = dns.message.make_response(query)
    response.flags |= dns.flags.RA
    target = REVERSE.get(question.name.to_text())
    found = ZONE.find_rrset if question.name.is_subdomain(ZONE.origin) else None
    if target is not None and question.rdtype == dns.rdatatype.PTR:
        response.answer.append(dns.rrset.from_text(question.name, 60, "IN", "PTR", target))
    elif found is None:
        response.set_rcode(dns.rcode.REFUSED)
    elif ZONE.get_node(question.name) is None:
        response.set_rcode(dns.rcode.NXDOMAIN)
    elif (rrset := ZONE.get_rrset(question.name, question.rdtype)) is not None:
        response.answer.append(rrset)
    return response.to_wire()


async def _serve(listening):
    while True:
        wire, sender = await listening.recvfrom(4096)
        if (reply := answer(wire)) is not None:
            await listening.sendto(reply, sender)


@asynccontextmanager
async def dns_server():
    """Serves while the block lasts; yields ``127.0.0.1:PORT``."""
    with trio.socket.socket(type=trio.socket.SOCK_DGRAM) as listening:
        await listening.bind(("127.0.0.1", 0))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_serve, listening)
            yield f"127.0.0.1:{listening.getsockname()[1]}"
            nursery.cancel_scope.cancel()
