"""The kind host: lines of /etc/hosts, beside whatever else is in the file."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.resources.hosts.kind import Host
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once

FILE = Path("/etc/hosts")
USUAL = "127.0.0.1\tlocalhost\n::1 localhost ip6-localhost # v6\n"


@pytest.fixture(autouse=True)
def file():
    FILE.write_text(USUAL)


def a_host(name="db.internal", **more):
    return Host(name=name, **({"ip": "10.0.0.5"} | more))


def world():
    return FILE.read_bytes() if FILE.exists() else None


def new():
    return Case(lambda: a_host(aliases=("db",)), world, lambda: FILE.write_text(USUAL))


def changed():
    FILE.write_text(f"{USUAL}10.0.0.9 db.internal db # old\n")
    spoilt = f"{USUAL}10.0.0.7 db.internal db # old\n"
    return Case(a_host, world, lambda: FILE.write_text(spoilt))


def absent():
    text = f"{USUAL}10.0.0.9 web db.internal\n"
    FILE.write_text(text)
    return Case(lambda: a_host(ensure="absent", ip=None), world, lambda: FILE.write_text(text))


@pytest.mark.parametrize("case", [new, changed, absent], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_a_host_keeps_the_contract(promise, case):
    await promise(case())


@pytest.mark.parametrize(
    ("before", "more", "after"),
    [
        ("", {}, "10.0.0.5\tdb.internal\n"),
        ("# café", {}, "# café\n10.0.0.5\tdb.internal\n"),
        ("10.0.0.5 db.internal db\n", {}, None),
        ("10.0.0.5 db.internal db\n", {"aliases": ()}, "10.0.0.5\tdb.internal\n"),
        ("10.0.0.5 db.internal # mine\r\n", {"aliases": ("db",)}, "10.0.0.5\tdb.internal db # mine\r\n"),
        ("10.0.0.5 host1 DB.internal\n", {}, None),
        ("10.0.0.5 host1 db.internal\n", {"aliases": ("db",)}, "10.0.0.5 host1 db.internal\n10.0.0.5\tdb.internal db\n"),
        ("10.0.0.9 web db.internal mail # x\n", {}, "10.0.0.9\tweb mail # x\n10.0.0.5\tdb.internal\n"),
        ("10.0.0.9 db.internal db # x\n", {}, "10.0.0.5\tdb.internal db # x\n"),
        ("10.0.0.9 db\n", {"aliases": ("db",)}, "10.0.0.5\tdb.internal db\n"),
        ("2001:db8::1 db.internal\n", {}, "2001:db8::1 db.internal\n10.0.0.5\tdb.internal\n"),
        ("2001:db8:0::1 db.internal\n", {"ip": "2001:db8::1"}, None),
        ("10.0.0.5 db.internal\n10.0.0.5 db.internal x\n", {}, "10.0.0.5 db.internal\n"),
        ("999.1.1.1 db.internal\nnonsense\n", {}, "999.1.1.1 db.internal\nnonsense\n10.0.0.5\tdb.internal\n"),
    ],
)  # fmt: skip
async def test_one_host_is_brought_right_and_all_others_stay(before, more, after):
    FILE.write_text(before)
    await converge_once(a_host(**more))
    assert FILE.read_bytes().decode() == (before if after is None else after)
    ended, _ = await converge_once(a_host(**more))
    assert ended.changes == 0


async def test_the_c_library_finds_it():
    await converge_once(a_host(aliases=("db",)))
    assert socket.gethostbyname("db") == "10.0.0.5"


async def test_the_hosts_are_written_at_once_and_bytes_that_are_no_text_stay():
    FILE.write_bytes(b"# caf\xe9\n")
    await converge_once(*(a_host(f"h{n}", ip=f"10.1.0.{n}") for n in range(100)))
    lines = FILE.read_bytes().splitlines()
    assert lines[0] == b"# caf\xe9"
    assert sorted(lines[1:]) == sorted(f"10.1.0.{n}\th{n}".encode() for n in range(100))


async def test_a_file_that_is_mounted_is_written_in_place(tmp_path):
    """As in containers."""
    (tmp_path / "hosts").write_text(USUAL)
    subprocess.run(["mount", "--bind", tmp_path / "hosts", FILE], check=True)
    try:
        await converge_once(a_host())
    finally:
        subprocess.run(["umount", FILE], check=True)
    assert (tmp_path / "hosts").read_text() == f"{USUAL}10.0.0.5\tdb.internal\n"


async def test_owner_and_mode_of_the_file_stay():
    FILE.chmod(0o640)
    os.chown(FILE, 0, 50)
    await converge_once(a_host())
    assert (FILE.stat().st_mode & 0o7777, FILE.stat().st_gid) == (0o640, 50)


async def test_what_is_no_file_is_refused_and_stays():
    FILE.unlink()
    os.mkfifo(FILE)
    ended, _ = await converge_once(a_host())
    assert ended.counts[Result.FAILED] == 1
    assert FILE.is_fifo()


async def test_it_is_undone():
    FILE.write_text(f"{USUAL}10.0.0.9\tdb.internal db\n")
    await assert_undone(a_host(), world)
    await assert_undone(a_host("web"), world)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a: {}", "ip is required"),
        ("a: {ip: 10.0.0.256}", "'10.0.0.256' is not an IP address"),
        ("'a b': {ip: 10.0.0.1}", "'a b' is not the name of a host"),
        ("10.0.0.1: {ip: 10.0.0.1}", "is an address, not the name"),
        ("a: {ip: 10.0.0.1, aliases: [b, B]}", "b is listed twice"),
        ('a: {ip: 10.0.0.1, aliases: ["b\\n10.0.0.2 c"]}', "is not the name of a host"),
        ("localhost: {ip: 10.0.0.1}", "would not work without its localhost"),
        ("localhost: {ensure: absent}", "would not work without its localhost"),
        (
            "{a: {ip: 10.0.0.1}}, {b: {host: A, ip: 10.0.0.2}}",
            "do not agree on ip of the IPv4 address of the host a",
        ),
        ("{a: {ip: 10.0.0.1, aliases: [c]}}, {b: {ip: 10.0.0.2, aliases: [c]}}", "do not agree on ip"),
        ("{a: {ip: 10.0.0.1}}, {b: {host: a, ensure: absent}}", "do not agree on ensure"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(entry, message, tmp_path):
    entry = entry if entry.startswith("{") else f"{{{entry}}}"
    (tmp_path / "site.yaml").write_text(f"resources:\n  - host: [{entry}]\n")
    with pytest.raises(ManifestError) as raised:
        load(str(tmp_path / "site.yaml"))
    assert message in raised.value.diagnostics[0].message
    assert raised.value.diagnostics[0].place.line == 2


def test_two_sorts_of_addresses_are_no_contradiction(tmp_path):
    text = "resources:\n  - host: [{a: {ip: 10.0.0.1}}, {a6: {host: a, ip: '::1'}}]\n"
    (tmp_path / "site.yaml").write_text(text)
    assert len(load(str(tmp_path / "site.yaml")).graph.resources) == 2
