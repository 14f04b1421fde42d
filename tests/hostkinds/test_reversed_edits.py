"""What is undone after the manifest was edited: a resource renamed, made another thing, or taken away beside its like."""

from __future__ import annotations

import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from hostkinds_worlds import line, shell

from reactor import ResourceError
from reactor.engine.options import RunOptions
from reactor.journal.history import History
from reactor.journal.journal import Journal
from reactor.journal.undo_records import UndoRecord, UndoRecords
from reactor.resources.accounts import User
from reactor.resources.alternatives import Alternatives
from reactor.resources.cron import Cron
from reactor.resources.hostname import Hostname
from reactor.resources.hosts.kind import Host
from reactor.resources.ssh.authorized_key import AuthorizedKey
from reactor.resources.ssh.known_host import KnownHost
from reactor.resources.sysctl import Sysctl
from reactor.testing.story import converge_once

REVERSE = {"reverse": True}
HOSTS = Path("/etc/hosts")
KEYS = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC",
]


@pytest.fixture(autouse=True)
def spool(own_directories):
    """A spool of cron of the tests' own."""
    subprocess.run(["mount", "-t", "tmpfs", "none", "/var/spool"], check=True)
    Path("/var/spool/cron/crontabs").mkdir(parents=True)
    yield
    subprocess.run(["umount", "/var/spool"], check=True)


async def converge(state, *resources):
    """One run of a manifest with these resources: the errors by ref."""
    with closing(Journal.open(str(state), "/etc/site.yaml", print)) as journal:
        _, story = await converge_once(*resources, run_store=journal)
    return {check.ref: check.error for each in resources for check in story.checks(each.ref)[-1:]}


def job(name, **more):
    return Cron(name=name, command="/bin/true", minute="5", table="user", meta=REVERSE, **more)


async def test_a_job_leaves_the_table_in_which_another_stays(tmp_path):
    await converge(tmp_path, job("one", user="root"), job("two", user="root"))
    await converge(tmp_path, job("two", user="root"))
    table = Path("/var/spool/cron/crontabs/root").read_text()
    assert "reactor: one" not in table
    assert "reactor: two" in table


async def test_a_user_is_undone_though_a_job_needs_the_user(tmp_path):
    shell("useradd -s /bin/false alice")
    theirs = Cron(name="job", user="alice", command="/bin/true", minute="5", table="system")
    Path("/etc/cron.d").mkdir()
    await converge(tmp_path, User(name="alice", shell="/bin/sh", meta=REVERSE), theirs)
    await converge(tmp_path, theirs)
    assert line("passwd", "alice").endswith(":/bin/false")


async def test_a_name_that_changed_twice_is_what_it_was_at_first(tmp_path):
    socket.sethostname("before")
    for name in ("one", "two"):
        await converge(tmp_path, Hostname(name=name, meta=REVERSE))
    await converge(tmp_path)
    assert Path("/etc/hostname").read_text() == "before\n"
    assert socket.gethostname() == "before"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Host(name="a", host="web", ip="10.0.0.1", meta=REVERSE), Host(name="web", ip="10.0.0.1", meta=REVERSE)),
        (Host(name="web", ip="10.0.0.1", meta=REVERSE), Host(name="b", host="web", ip="10.0.0.2", meta=REVERSE)),
    ],
)  # fmt: skip
async def test_a_host_under_another_name_is_undone_all_the_same(tmp_path, first, second):
    HOSTS.write_text("10.9.9.9\tweb\n")
    await converge(tmp_path, first)
    await converge(tmp_path, second)
    assert "10.9.9.9" not in HOSTS.read_text()
    await converge(tmp_path)
    assert HOSTS.read_text() == "10.9.9.9\tweb\n"


async def test_a_parameter_written_in_another_way_is_undone_all_the_same(tmp_path):
    key = Path("/proc/sys/net/ipv4/ip_forward")
    key.write_text("0")
    for name in ("net/ipv4/ip_forward", "net.ipv4.ip_forward"):
        await converge(tmp_path, Sysctl(name=name, value="1", meta=REVERSE))
    await converge(tmp_path)
    assert key.read_text() == "0\n"


def keyed(index):
    return AuthorizedKey(name="hers", user="ada", key=KEYS[index], meta=REVERSE)


def known(**more):
    return KnownHost(**{"name": "web", "key": KEYS[0], "meta": REVERSE, **more})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            Host(name="web", ip="10.0.0.1", meta=REVERSE),
            Host(name="web", ip="fd00::1", meta=REVERSE),
        ),
        (
            Host(name="web", host="one", ip="10.0.0.1", meta=REVERSE),
            Host(name="web", host="two", ip="10.0.0.1", meta=REVERSE),
        ),
        (
            Host(name="web", ip="10.0.0.1", meta=REVERSE),
            Host(name="web", ip="10.0.0.1", aliases=["www"], meta=REVERSE),
        ),
        (keyed(0), keyed(1)),
        (known(path="/etc/one"), known(path="/etc/two")),
        (known(host="one"), known(host="two")),
        (job("job", user="root"), job("job", user="nobody")),
    ],
)
async def test_what_could_not_be_undone_after_an_edit_is_refused(tmp_path, first, second):
    Path("/etc/ssh").mkdir()
    shell("useradd -m ada")
    await converge(tmp_path, first)
    error = (
        f"the edit makes {first.ref} manage something else, and only what it managed before could be undone"
    )
    with closing(History(str(tmp_path))) as history:
        stored = UndoRecords([UndoRecord(*row) for row in history.originals()], "/etc/site.yaml", print)
    _, story = await converge_once(second, options=RunOptions(noop=True, recorded=stored))
    assert story.checks(second.ref)[-1].error == error
    assert await converge(tmp_path, second) == {second.ref: error}


@pytest.mark.parametrize(
    ("recorded", "edited", "is_undone"),
    [
        ({"ensure": "absent", "path": "/bin/true"}, {"path": "/bin/true"}, True),
        ({"ensure": "absent", "path": "/bin/true"}, {"path": "/bin/false"}, None),
        ({"path": "/bin/true"}, {"path": "/bin/false"}, None),
        ({"path": "/bin/true"}, {"ensure": "absent", "path": "/bin/true"}, None),
        ({"path": "/bin/true"}, {"mode": "auto"}, True),
    ],
)
async def test_an_alternative_that_would_stay_or_not_come_back_is_refused(recorded, edited, is_undone):
    ours = Alternatives(name="matrix", **edited, meta=REVERSE)
    assert ours.is_undone_by(Alternatives(name="matrix", **recorded)) is is_undone


async def test_a_removed_alternative_could_not_be_brought_back():
    gone = Alternatives(name="matrix", ensure="absent", path="/bin/true", meta=REVERSE)
    with pytest.raises(ResourceError, match="reverse could not restore"):
        await gone.reversal(await gone.observe())
