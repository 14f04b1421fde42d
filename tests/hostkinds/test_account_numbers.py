"""New accounts without a number leave those that the manifest gives to other accounts."""

from __future__ import annotations

import grp
import pwd
from pathlib import Path

import pytest
from hostkinds_worlds import shell

from reactor.engine.events import Result
from reactor.resources.accounts import Group, User
from reactor.testing.story import converge_once

LIMITS = "UID_MIN 1000\nUID_MAX 1005\nGID_MIN 1000\nGID_MAX 1005\nUSERGROUPS_ENAB yes\n"


@pytest.fixture(autouse=True)
def six_numbers():
    """Six free numbers for users and groups, from 1000."""
    Path("/etc/login.defs").write_text(LIMITS)


async def converged(*resources):
    ended, _ = await converge_once(*resources)
    assert ended.counts[Result.FAILED] == 0
    again, _ = await converge_once(*resources)
    assert again.counts[Result.OK] == len(resources)


def uid(name):
    return pwd.getpwnam(name).pw_uid


def gid(name):
    return grp.getgrnam(name).gr_gid


async def test_a_user_without_a_uid_leaves_the_uids_of_other_users():
    await converged(
        User(name="ada"), User(name="bob"), User(name="zoe", uid=1000), User(name="kim", uid=1002)
    )
    assert {name: uid(name) for name in ("ada", "bob", "zoe", "kim")} == {
        "ada": 1001, "bob": 1003, "zoe": 1000, "kim": 1002,
    }  # fmt: skip
    assert gid("ada") == 1001, "its own group has the same number"


async def test_a_group_without_a_gid_leaves_the_gids_of_other_groups():
    await converged(Group(name="crew"), Group(name="staff2", gid=1000))
    assert (gid("crew"), gid("staff2")) == (1001, 1000)


async def test_the_own_group_of_a_user_leaves_the_gids_of_other_groups():
    await converged(
        User(name="ada", uid=1000),
        User(name="bob"),
        Group(name="crew", gid=1000),
        Group(name="web", gid=1001),
    )
    assert (gid("crew"), gid("web")) == (1000, 1001)
    assert uid("ada") == 1000
    assert pwd.getpwnam("ada").pw_gid == gid("ada")
    assert (uid("bob"), gid("bob")) == (1003, 1003)


async def test_a_system_account_leaves_the_numbers_of_others_too():
    Path("/etc/login.defs").write_text(
        "SYS_UID_MIN 900\nSYS_UID_MAX 905\nSYS_GID_MIN 900\nSYS_GID_MAX 905\nUSERGROUPS_ENAB yes\n"
    )
    await converged(User(name="ada", system=True), User(name="bob", uid=905), Group(name="crew", gid=904))
    assert (uid("ada"), gid("ada")) == (903, 903)


async def test_after_the_last_number_comes_the_first_free_one():
    shell("useradd --uid 1005 last")
    await converged(User(name="ada"), User(name="bob", uid=1000))
    assert (uid("ada"), uid("bob")) == (1001, 1000)


async def test_where_only_the_numbers_of_others_are_free_useradd_decides():
    for number in range(1000, 1005):
        shell(f"groupadd --gid {number} g{number}; useradd --uid {number} --gid {number} u{number}")
    ended, _ = await converge_once(User(name="ada", group="g1000"), User(name="bob", uid=1005, group="g1000"))
    assert ended.counts[Result.FAILED] == 1
    assert ended.counts[Result.CHANGED] == 1
