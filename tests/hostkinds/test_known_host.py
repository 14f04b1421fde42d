"""The kind known_host: lines of hosts, beside whatever else is in the file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone, shell
from ssh_keys import ed25519, rsa

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.resources.ssh.known_host import KnownHost
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once

FILE = Path("/etc/ssh/ssh_known_hosts")
KEY, OTHER = ed25519(1), ed25519(2)


@pytest.fixture(autouse=True)
def directory():
    FILE.parent.mkdir()


def known(name="git.example.com", **more):
    return KnownHost(name=name, **({"key": KEY} | more))


def world():
    return FILE.read_bytes() if FILE.exists() else None


def new():
    return Case(known, world, FILE.unlink)


def changed():
    FILE.write_text(f"web,git.example.com {OTHER} note\n")
    make = lambda: known(aliases=("192.0.2.7",))  # noqa: E731
    return Case(
        make, world, lambda: FILE.write_text(f"web {OTHER} note\ngit.example.com,192.0.2.7 {OTHER}\n")
    )


def absent():
    FILE.write_text(f"git.example.com {OTHER}\nweb {OTHER}\n")
    return Case(
        lambda: known(ensure="absent", key=None),
        world,
        lambda: FILE.write_text(f"git.example.com {KEY}\nweb {OTHER}\n"),
    )


@pytest.mark.parametrize("case", [new, changed, absent], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_a_known_host_keeps_the_contract(promise, case):
    await promise(case())


async def test_ssh_keygen_finds_what_was_written_also_with_a_port():
    await converge_once(
        known("[git.example.com]:2222"), known("other", host="git.example.com", key=rsa(2048))
    )
    for name, kind in (("[git.example.com]:2222", "ssh-ed25519"), ("git.example.com", "ssh-rsa")):
        done = subprocess.run(
            ["ssh-keygen", "-F", name, "-f", FILE], capture_output=True, text=True, check=True
        )
        assert kind in done.stdout
    assert FILE.stat().st_mode & 0o777 == 0o644


async def test_names_that_ssh_keygen_has_hashed_are_recognised():
    FILE.write_text(f"git.example.com {KEY}\nweb {OTHER}\n")
    shell(f"ssh-keygen -q -H -f {FILE}; rm {FILE}.old")
    before = world()
    ended, _ = await converge_once(known())
    assert (ended.changes, world()) == (0, before)
    await converge_once(known(key=OTHER))
    assert world().decode().splitlines()[1:] == [f"git.example.com {OTHER}"]


async def test_the_hosts_of_one_file_are_written_at_once():
    await converge_once(*(known(f"host{number}", key=ed25519(number)) for number in range(50)))
    assert sorted(world().decode().splitlines()) == sorted(f"host{n} {ed25519(n)}" for n in range(50))


async def test_a_file_of_a_user_is_written_for_the_user_and_nowhere_else(tmp_path):
    home = Path("/home/ada")
    home.mkdir()
    os.chown(home, 1500, 1500)
    await converge_once(known(path=str(home / "known_hosts")))
    assert (home / "known_hosts").stat().st_uid == 1500
    FILE.write_text("root's\n")
    (home / "trap").symlink_to(FILE)
    os.lchown(home / "trap", 1500, 1500)
    ended, _ = await converge_once(known(path=str(home / "trap")))
    assert ended.counts[Result.FAILED] == 1
    assert FILE.read_text() == "root's\n"


async def test_it_is_undone():
    FILE.write_text(f"git.example.com {OTHER}\nweb {OTHER}\n")
    await assert_undone(known(), lambda: sorted(world().splitlines()))
    await assert_undone(known("db"), world)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('"a b": {key: KEY}', "'a b' is not a host"),
        ('"[a]:22": {key: KEY}', "port 22 is the usual one"),
        ('"[a]:70000": {key: KEY}', "there is no port 70000"),
        ("a: {}", "key is required"),
        ("a: {key: ssh-ed25519 AAAA}", "its end is missing"),
        ("a: {key: KEY, aliases: [b, b]}", "b is listed twice"),
        ("a: {key: KEY, aliases: ['b,c']}", "is not a host"),
        (
            "{a: {key: KEY}}, {b: {host: a, key: OTHER}}",
            "do not agree on key of the ssh-ed25519 key of the host",
        ),
        ("{a: {key: KEY}}, {b: {host: a, ensure: absent}}", "do not agree on ensure of the known host"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(entry, message, tmp_path):
    entry = entry.replace("KEY", f'"{KEY}"').replace("OTHER", f'"{OTHER}"')
    entry = entry if entry.startswith("{") else f"{{{entry}}}"
    (tmp_path / "site.yaml").write_text(f"resources:\n  - known_host: [{entry}]\n")
    with pytest.raises(ManifestError) as raised:
        load(str(tmp_path / "site.yaml"))
    assert message in raised.value.diagnostics[0].message
    assert raised.value.diagnostics[0].place.line == 2
