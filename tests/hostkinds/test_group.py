"""The kind group, in an /etc of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone, line, shell

from reactor.engine.events import Result
from reactor.resource.plan import ResourceError
from reactor.resources.accounts import Group, User
from reactor.resources.accounts.database import GroupLine
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

FILES = [Path("/etc", name) for name in ("group", "gshadow", "passwd", "shadow")]


def world():
    return [path.read_text() for path in FILES]


def a_group():
    return Case(lambda: Group(name="web", gid=1234), world, lambda: shell("groupmod -g 1235 web"))


def a_group_with_members():
    shell("groupadd web; usermod -aG web nobody")

    def make():
        return Group(name="web", members=("root",), membership="inclusive")

    return Case(make, lambda: line("group", "web"), lambda: shell("gpasswd -a nobody web >/dev/null"))


def no_group():
    return Case(lambda: Group(name="staff", ensure="absent"), world, lambda: shell("groupadd -g 50 staff"))


@pytest.mark.parametrize("case", [a_group, a_group_with_members, no_group], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_group_kind_keeps_the_contract(promise, case):
    await promise(case())


FOUND = GroupLine("web", 1234, ("a", "b"))


@pytest.mark.parametrize(
    ("properties", "state", "steps"),
    [
        ({}, FOUND, []),
        ({"gid": 1234}, FOUND, []),
        ({"gid": 1235}, FOUND, ["changed gid from 1234 to 1235"]),
        ({}, None, ["created the group"]),
        ({"gid": 7}, None, ["created the group with gid 7"]),
        ({"members": ("a",)}, None, ["created the group", "added a"]),
        ({"members": ("a",)}, FOUND, []),
        ({"members": ("a", "c")}, FOUND, ["added c"]),
        ({"members": ()}, FOUND, []),
        ({"members": (), "membership": "inclusive"}, FOUND, ["removed a, b"]),
        ({"members": ("c", "a"), "membership": "inclusive"}, FOUND, ["added c and removed b"]),
        ({"members": ("b", "a"), "membership": "inclusive"}, FOUND, []),
        ({"ensure": "absent"}, None, []),
        ({"ensure": "absent"}, FOUND, ["removed the group"]),
    ],
)
def test_each_state_leads_to_its_plan(properties, state, steps):
    plan = Group(name="web", **properties).plan(state, refresh=False)
    assert [action.did for action in plan] == steps
    assert [action.would for action in plan] == [f"Would have {step}" for step in steps]


@pytest.mark.parametrize(
    "spoil", ["groupdel web", "groupmod -g 77 web", "sed -i /^web:/d /etc/group", "gpasswd -d root web"]
)
async def test_what_is_done_behind_its_back_is_undone_without_polling(spoil):
    async with running(Group(name="web", gid=1234, members=["root"])) as story:
        await story.converged()
        assert line("group", "web") == "web:x:1234:root"
        shell(f"{spoil} >/dev/null")
        assert line("group", "web") != "web:x:1234:root"
        await story.until(lambda: line("group", "web") == "web:x:1234:root")


async def test_many_at_once_do_not_get_into_each_others_way():
    names = [f"g{number}" for number in range(20)]
    ended, _ = await converge_once(*(Group(name=name, members=["nobody"]) for name in names))
    assert ended.counts[Result.CHANGED] == len(names)
    assert all(line("group", name).endswith(":nobody") for name in names)


async def test_a_system_group_gets_a_number_of_the_system():
    await converge_once(Group(name="daemons", system=True))
    assert int(line("group", "daemons").split(":")[2]) < 1000


async def test_a_member_that_is_no_user_is_an_error_that_says_what_to_do():
    ended, story = await converge_once(Group(name="staff", members=["nobody-at-all"]))
    assert ended.counts[Result.FAILED] == 1
    check = story.checks("group#staff")[-1]
    assert "user 'nobody-at-all' does not exist" in check.error
    assert check.hint == "declare the user, and add it to require"


async def test_the_group_of_root_is_never_removed_whatever_it_is_called():
    before = world()
    with pytest.raises(ResourceError, match="has gid 0; refusing to remove it"):
        Group(name="wheel", ensure="absent").plan(GroupLine("wheel", 0), refresh=False)
    assert world() == before


@pytest.mark.parametrize("former", [None, "groupadd -g 77 web", "groupadd -g 77 web; usermod -aG web nobody"])
@pytest.mark.parametrize(
    "properties", [{"ensure": "absent"}, {"gid": 1234, "members": ["root"]}], ids=["absent", "present"]
)
async def test_it_is_undone_by_what_was_there(former, properties):
    if former:
        shell(former)
    resource = Group(name="web", **properties)
    if await resource.verify():
        await assert_undone(resource, lambda: line("group", "web"))


@pytest.mark.parametrize("name", ["web", "_web", "Web-1.x", "machine$", "a" * 32])
def test_names_are_accepted(name):
    assert Group(name=name).name == name


@pytest.mark.parametrize("name", ["", "a b", "a;b", "$(id)", "a/b", "a:b", "-a", "1a", "a" * 33, "ä", "a\n"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(ValueError, match=r"account|at least 1 character"):
        Group(name=name)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"name": "root", "ensure": "absent"}, "the group root can't be absent"),
        ({"gid": 0, "ensure": "absent"}, "the group root can't be absent"),
        ({"gid": -1}, "greater than or equal"),
        ({"gid": 2**32 - 1}, "less than or equal"),
        ({"members": ["a", "a"]}, "a is listed twice"),
        ({"members": ["a b"]}, "is not a valid account name"),
    ],
)
def test_what_can_not_be_meant_is_refused(properties, message):
    with pytest.raises(ValueError, match=message):
        Group(**{"name": "web", **properties})


async def test_a_run_that_ends_sees_that_a_user_took_a_group_along():
    shell("useradd -U web")
    group, user = Group(name="web"), User(name="web", ensure="absent", after=("group#web",))
    _, story = await converge_once(group, user)
    assert not line("group", "web")
    check = story.checks(group.ref)[-1]
    assert check.result is Result.FAILED
    assert check.error.startswith("as desired at first, but no longer, since user#web was changed")
