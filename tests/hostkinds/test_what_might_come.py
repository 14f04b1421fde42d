"""What a dry run expects of a resource that would be changed: only what its kind can bring."""

from __future__ import annotations

import pytest
from ssh_keys import ed25519

from reactor.engine.events import Checked, Result
from reactor.engine.options import RunOptions
from reactor.resources.accounts import Group, User
from reactor.resources.cron import Cron
from reactor.resources.file import File
from reactor.resources.hosts.kind import Host
from reactor.resources.network import Route
from reactor.resources.ssh.authorized_key import AuthorizedKey
from reactor.testing.story import converge_once

DB = Host(name="db", ip="192.0.2.5")
ADA = User(name="ada", uid=2001, home="/srv/ada", manage_home=True)


@pytest.mark.parametrize(
    ("resource", "missing", "might"),
    [
        (DB, "group#web", False),
        (DB, "/srv/app", False),
        (DB, "/etc/hosts", True),
        (DB, "unit#web", True),
        (ADA, "user#ada", True),
        (ADA, "user#2001", True),
        (ADA, "group#ada", True),
        (ADA, "group#web", False),
        (ADA, "/srv/ada/.ssh", True),
        (ADA, "/srv", True),
        (ADA, "/opt/app", False),
        (User(name="ada", group="web"), "group#ada", False),
        (User(name="ada", ensure="absent"), "group#ada", False),
        (Group(name="web", gid=80), "group#80", True),
        (Group(name="web", gid=80), "user#web", False),
        (Route(name="default", gateway="192.0.2.1"), "/sys/class/net/eth0", False),
        (Cron(name="job", command="true", schedule="@daily"), "/etc/cron.d/job", True),
        (Cron(name="job", command="true", schedule="@daily"), "/usr/bin/app", False),
        (AuthorizedKey(name="k", user="ada", key=ed25519(), path="/etc/keys/ada"), "/etc/keys", True),
    ],
)
def test_only_what_a_kind_can_bring_may_come_with_it(resource, missing, might):
    assert resource.might_provide(missing) is might


async def test_a_dry_run_fails_for_an_account_that_nothing_brings(tmp_path):
    path = tmp_path / "f"
    file = File(name=str(path), ensure="present", owner="root", group="nobody-has-it", mode="0644")
    _, story = await converge_once(
        Host(name="db.internal", ip="192.0.2.5"), file, options=RunOptions(noop=True)
    )
    assert story.checks("host#db.internal")[0].result is Result.WOULD_CHANGE
    assert story.checks(file.ref)[0].result is Result.FAILED
    assert story.checks(file.ref)[0].error == 'could not lookup group "nobody-has-it"'
    assert not path.exists()


@pytest.mark.parametrize("comes_first", [True, False])
async def test_a_file_of_the_group_that_comes_with_a_user_is_after_the_user(tmp_path, comes_first):
    file = File(name=str(tmp_path / "f"), ensure="present", owner="root", group="ada", mode="0644")
    resources = (file, User(name="ada")) if comes_first else (User(name="ada"), file)
    _, story = await converge_once(*resources, options=RunOptions(noop=True))
    assert [each.ref for each in story.all(Checked)] == ["user#ada", file.ref]
    assert story.checks(file.ref)[0].actions == (
        'Can\'t tell before user#ada is applied (could not lookup group "ada")',
    )


async def test_a_dry_run_looks_past_what_would_come_for_what_would_not():
    ada = User(name="ada", groups=["comes", "never"])
    ended, story = await converge_once(ada, Group(name="comes"), options=RunOptions(noop=True))
    assert story.checks("group#comes")[0].result is Result.WOULD_CHANGE
    assert (story.checks("user#ada")[0].result, story.checks("user#ada")[0].error) == (
        Result.FAILED,
        "there is no group never",
    )
    assert ended.counts["failed"] == 1


async def test_a_dry_run_fails_for_the_member_that_no_user_brings():
    web = Group(name="web", members=["comes", "never"])
    _, story = await converge_once(web, User(name="comes"), options=RunOptions(noop=True))
    assert story.checks("group#web")[0].error == "there is no user never"
