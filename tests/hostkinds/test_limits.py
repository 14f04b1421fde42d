"""The kind limits: a file of its own in limits.d."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone

from reactor import ManifestError, load
from reactor.resources.limits import Limits
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once

FILE = Path("/etc/security/limits.d/web.conf")


@pytest.fixture(autouse=True)
def directory():
    FILE.parent.mkdir(parents=True)


def some(**more):
    return Limits(name="web", **({"nofile": 65536, "nproc": {"soft": 100, "hard": 200}} | more))


def world():
    return (FILE.lstat().st_mode, FILE.lstat().st_uid, FILE.read_text()) if FILE.exists() else None


def its_file():
    return Case(some, world, lambda: FILE.write_text("* - nofile 1\n"))


def its_mode():
    return Case(some, world, lambda: FILE.chmod(0o666))


def no_file():
    FILE.write_text("* - nofile 1\n")
    return Case(lambda: Limits(name="web", ensure="absent"), world, lambda: FILE.write_text("x\n"))


@pytest.mark.parametrize("case", [its_file, its_mode, no_file], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_limits_keep_the_contract(promise, case):
    await promise(case())


async def test_each_limit_is_a_line():
    await converge_once(some(domain="@www", core="unlimited", **{"as": 1024}))
    lines = [
        "@www - nofile 65536",
        "@www soft nproc 100",
        "@www hard nproc 200",
        "@www - core unlimited",
        "@www - as 1024",
    ]
    assert FILE.read_text().splitlines()[1:] == lines
    ended, _ = await converge_once(some(domain="@www", core="unlimited", **{"as": 1024}))
    assert ended.changes == 0


async def test_it_is_undone():
    await assert_undone(some(), world)


@pytest.mark.parametrize("domain", ["web", "@www", "*", "%", "1000:", ":500", "@1000:2000", "machine$"])
def test_domains_are_accepted(domain):
    assert some(domain=domain).domain == domain


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a: {}", "no limit is given"),
        ("a/b: {nofile: 1}", "'a/b' is not the name of a file"),
        ("a: {nofile: 1, domain: 'b c'}", "'b c' is neither a user nor a group"),
        ("a: {nofile: unlimited}", "no user could log in"),
        ("a: {nofile: {soft: 1, hard: unlimited}}", "no user could log in"),
        ("a: {nofile: many}", "'many' is not a limit"),
        ("a: {nofile: {weak: 1}}", "a limit is a number"),
        ("a: {nofile: true}", "is not a limit"),
        ("a: {nofile: -1}", "nofile goes from 0"),
        ("a: {nproc: {soft: 5, hard: 4}}", "the soft limit 5 is above the hard one, 4"),
        ("a: {nproc: {soft: unlimited, hard: 4}}", "the soft limit unlimited is above"),
        ("a: {rtprio: 100}", "rtprio goes from 0 to 99"),
        ("a: {nice: unlimited}", "nice can't be unlimited"),
        ("a: {nofiles: 1}", "nofiles"),
        ("a: {ensure: absent, nofile: 1}", "only valid with 'ensure: present'"),
        ("{a: {nofile: 1}}, {b: {domain: a, nofile: 2}}", "do not agree on nofile"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(entry, message, tmp_path):
    entry = entry if entry.startswith("{") else f"{{{entry}}}"
    (tmp_path / "site.yaml").write_text(f"resources:\n  - limits: [{entry}]\n")
    with pytest.raises(ManifestError) as raised:
        load(str(tmp_path / "site.yaml"))
    assert message in raised.value.diagnostics[0].message
    assert raised.value.diagnostics[0].place.line == 2
