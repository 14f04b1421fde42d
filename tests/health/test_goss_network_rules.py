"""The rules that look at the network, against real servers on loopback."""

import os
import socket
import ssl
import struct
from pathlib import Path

import pytest
import trio
import trustme
from dns_server import SILENT, dns_server
from health_worlds import holds, listener, look
from http_server import http_server
from ports import free_port

from reactor.resources.health.goss.network import _address

# ---- port ----


async def test_a_port_of_tcp_listens_or_not():
    with listener() as listening:
        port = listening.getsockname()[1]
        assert await holds({"port": {f"tcp:{port}": {"listening": True, "ip": ["127.0.0.1"]}}})
        assert await holds({"port": {str(port): {}}})
        assert await holds({"port": {"mine": {"port": f"tcp:{port}"}}})
        assert not await holds({"port": {f"tcp:{port}": {"ip": ["0.0.0.0"]}}})
        assert await holds({"port": {f"udp:{port}": {"listening": False}}})
    assert await holds({"port": {f"tcp:{port}": {"listening": False}}})


async def test_a_connection_is_not_a_listener():
    with listener() as listening, socket.create_connection(listening.getsockname()) as connection:
        assert await holds({"port": {f"tcp:{connection.getsockname()[1]}": {"listening": False}}})


async def test_a_port_of_tcp6_is_another():
    with listener(socket.AF_INET6, "::") as listening:  # a machine may have no other address of version 6
        port = listening.getsockname()[1]
        assert await holds({"port": {f"tcp6:{port}": {"ip": ["::"]}, f"tcp:{port}": {"listening": False}}})


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "2001:db8::ff00:42:8329"])
def test_an_address_is_read_as_the_kernel_writes_it(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    assert _address("".join(f"{word:08X}" for word in words)) == address


async def test_without_ipv6_nothing_listens_on_it(tmp_path, monkeypatch):
    """As on a host that was started with ipv6.disable=1: its kernel has no such tables."""
    (tmp_path / "tcp").write_bytes(Path("/proc/net/tcp").read_bytes())
    monkeypatch.setattr("reactor.resources.health.goss.network._TABLES", str(tmp_path))
    assert await holds({"port": {"tcp6:1": {"listening": False}, "udp6:1": {"listening": False}}})
    assert await look({"port": {"tcp6:1": {}}}) == (
        "critical",
        ["port tcp6:1: listening is false, expected true"],
    )


async def test_a_port_of_udp_is_found():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        assert await holds({"port": {f"udp:{listening.getsockname()[1]}": {"ip": ["127.0.0.1"]}}})


# ---- addr ----


async def test_an_address_is_reachable_or_not():
    with listener() as listening:
        port = listening.getsockname()[1]
        assert await holds({"addr": {f"tcp://127.0.0.1:{port}": {"reachable": True, "timeout": 60_000}}})
        assert await holds(
            {"addr": {f"tcp://localhost:{port}": {"local-address": "127.0.0.1", "timeout": 60_000}}}
        )
    assert await holds({"addr": {f"tcp://127.0.0.1:{port}": {"reachable": False}}})
    assert await holds({"addr": {"tcp://no..such..host:1": {"reachable": False}}})


async def test_an_ipv6_address_is_reached():
    with listener() as listening:  # reached by its IPv4-mapped address: a machine may have no ::1
        port = listening.getsockname()[1]
        assert await holds({"addr": {f"tcp://[::ffff:127.0.0.1]:{port}": {"timeout": 60_000}}})


async def test_an_address_that_does_not_answer_is_not_waited_for():
    with listener() as listening, socket.socket() as first, socket.socket() as second:
        listening.listen(0)  # a queue of one: what comes later gets no answer
        for filling in (first, second):
            filling.setblocking(False)
            filling.connect_ex(listening.getsockname())
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        assert await holds({"addr": {address: {"reachable": False, "timeout": 50}}})


# ---- dns ----


@pytest.mark.parametrize(
    ("name", "addrs"),
    [
        ("www.example.test", ["192.0.2.80", "2001:db8::80"]),
        ("A:www.example.test", ["192.0.2.80"]),
        ("AAAA:www.example.test", ["2001:db8::80"]),
        ("CNAME:alias.example.test", ["www.example.test."]),
        ("MX:example.test", ["10 mail.example.test."]),
        ("NS:example.test", ["ns1.example.test."]),
        ("TXT:example.test", ["v=spf1 -all"]),
        ("CAA:example.test", ["0 issue letsencrypt.org"]),
        ("SRV:_https._tcp.example.test", ["0 5 443 www.example.test."]),
        ("PTR:192.0.2.80", ["www.example.test."]),
    ],
)
async def test_records_are_written_as_goss_does(name, addrs):
    async with dns_server() as server:
        rule = {"server": server, "addrs": {"consist-of": addrs}, "timeout": 60_000}
        assert await holds({"dns": {name: rule}})


@pytest.mark.parametrize("name", ["nothing.example.test", "AAAA:ns1.example.test"])
async def test_what_has_no_such_record_is_not_resolvable(name):
    async with dns_server() as server:
        assert await holds({"dns": {name: {"server": server, "resolvable": False, "timeout": 60_000}}})


async def test_a_server_that_refuses_has_not_said_that_there_is_no_such_name():
    async with dns_server() as server:
        rule = {"server": server, "resolvable": False, "timeout": 60_000}
        assert not await holds({"dns": {"A:elsewhere.test": rule}})


class NobodyAnswers(trio.abc.HostnameResolver):
    """What the resolver of the host says while no name server answers."""

    async def getaddrinfo(self, *_arguments, **_named):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    async def getnameinfo(self, *_arguments):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


@pytest.mark.parametrize(
    "rule",
    [
        {"dns": {"web.example": {"resolvable": False, "timeout": 60_000}}},
        {"addr": {"tcp://web.example:80": {"reachable": False, "timeout": 60_000}}},
    ],
    ids=["dns", "addr"],
)
async def test_a_resolver_that_is_down_has_not_said_that_there_is_no_such_name(rule):
    trio.socket.set_custom_hostname_resolver(NobodyAnswers())
    assert not await holds(rule)


async def test_a_dns_server_that_is_silent_is_no_answer_at_all():
    async with dns_server() as server:
        rule = {"server": server, "resolvable": False, "timeout": 50}
        assert await look({"dns": {f"A:{SILENT}": rule}}) == (
            "critical",
            [f"dns A:{SILENT}: no answer within 50 ms"],
        )


async def test_without_a_server_the_host_resolves_as_it_always_does():
    assert await holds({"dns": {"localhost": {"addrs": ["127.0.0.1"], "timeout": 60_000}}})
    assert await holds({"dns": {"no..such..host": {"resolvable": False, "timeout": 60_000}}})


# ---- http ----


async def test_rules_for_answers_of_a_server_hold_or_not():
    with http_server() as url:
        assert await holds({"http": {f"{url}/echo": {"status": 200, "body": ['"method": "GET"', "!PUT"]}}})
        assert await holds({"http": {f"{url}/missing": {"status": 404, "body": "nothing here"}}})
        assert await holds({"http": {f"{url}/echo": {"headers": ["Content-Type: application/json"]}}})
        assert await look({"http": {f"{url}/missing": {}}}) == (
            "critical",
            [f"http {url}/missing: status is 404, expected 200"],
        )


async def test_a_request_is_made_as_configured():
    with http_server() as url:
        rule = {
            "method": "PUT",
            "request-headers": ["X-Token: abc", "Host: example.test"],
            "request-body": "payload",
            "body": ['"method": "PUT"', '"body": "payload"', "/(?i)x-token.*abc/", "/Host.*example.test/"],
        }
        assert await holds({"http": {f"{url}/echo": rule}})


async def test_redirects_are_followed_unless_configured_otherwise():
    with http_server() as url:
        assert await holds({"http": {f"{url}/moved": {"status": 200}}})
        assert await holds({"http": {f"{url}/moved": {"status": 302, "no-follow-redirects": True}}})


async def test_a_server_gets_the_user_and_the_password():
    with http_server() as url:
        assert await holds({"http": {f"{url}/private": {"username": "ann", "password": "secret"}}})
        assert await holds({"http": {f"{url}/private": {"username": "ann", "password": "x", "status": 401}}})


async def test_a_server_that_is_slow_or_gone():
    with http_server() as url:
        assert await look({"http": {f"{url}/slow": {"timeout": 50}}}) == (
            "critical",
            [f"http {url}/slow: no answer within 50 ms"],
        )
    _, [line] = await look({"http": {url: {}}})
    assert "Connection refused" in line


async def test_a_certificate_is_verified_unless_it_is_not_to_be(tmp_path):
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with http_server(tls) as url:
        _, [line] = await look({"http": {url: {}}})
        assert "certificate" in line.lower()
        assert await holds({"http": {url: {"allow-insecure": True}}})
        assert await holds({"http": {url: {"ca-file": str(tmp_path / "ca.pem")}}})


async def test_a_client_may_show_a_certificate_of_its_own(tmp_path):
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(tls)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    mine = authority.issue_cert("client@example.test")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    mine.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    mine.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    files = {f"{name}-file": str(tmp_path / f"{name}.pem") for name in ("ca", "cert", "key")}
    with http_server(tls) as url:
        assert await holds({"http": {url: files}})
        assert not await holds({"http": {url: {"ca-file": files["ca-file"]}}})
        if os.geteuid() == 0:
            for path in files.values():
                os.chown(path, 12345, 12345)
                _, [line] = await look({"http": {url: files}})
                assert f"{path} belongs to 12345" in line
                os.chown(path, 0, 0)


async def test_a_file_of_certificates_that_is_missing_is_named():
    _, [line] = await look({"http": {"https://127.0.0.1:1": {"ca-file": "/nowhere/ca.pem"}}})
    assert line == "http https://127.0.0.1:1: No such file or directory"


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with http_server() as url:
        assert await holds({"http": {url: {}}})


async def test_a_proxy_of_the_rule_is_used():
    with http_server() as proxy:
        assert await holds({"http": {"http://elsewhere.test/": {"proxy": proxy, "body": ["elsewhere.test"]}}})
