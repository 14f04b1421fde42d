"""What belongs to a user or a group goes after it, in whatever order the manifest has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from namespaces import run_in_namespaces

from reactor.engine.events import Checked, Result
from reactor.resources.accounts import Group, User
from reactor.resources.archive import Archive
from reactor.resources.file import File
from reactor.resources.scaffold import Scaffold
from reactor.testing.story import converge_once, graph_of


def edges(*resources):
    return {(edge.first, edge.second) for edge in graph_of(resources).edges}


def a_file(owner, group):
    return File(name="/srv/x", ensure="present", content="x", owner=owner, group=group, mode="0640")


ADA, WEB = User(name="ada", uid=1234, group="web"), Group(name="web", gid=800)


@pytest.mark.parametrize(("owner", "group"), [("ada", "web"), ("1234", "800"), ("ada", "800")])
def test_what_belongs_to_accounts_goes_after_them(owner, group):
    both = {("user#ada", "file#/srv/x"), ("group#web", "file#/srv/x")}
    assert edges(a_file(owner, group), ADA, WEB) == both | {("group#web", "user#ada")}


@pytest.mark.parametrize(
    "resource",
    [
        Scaffold(name="/srv/x", ensure="present", source="/srv/templates", owner="ada"),
        Archive(name="/srv/x.zip", ensure="present", url="http://host/x.zip", owner="ada", group="www"),
    ],
    ids=lambda resource: resource.kind,
)
def test_every_kind_with_an_owner_goes_after_it(resource):
    assert edges(resource, ADA) == {("user#ada", resource.ref)}


def test_the_accounts_of_root_are_there_already():
    root, group = User(name="root", shell="/bin/sh", group="root"), Group(name="root")
    assert edges(a_file("root", "0"), root, group) == {("group#root", "user#root")}


def test_accounts_of_others_and_what_is_left_out_of_the_search_have_no_part_in_it():
    assert edges(a_file("bob", "staff"), ADA) == set()
    assert edges(a_file("ada", "root"), User(name="ada", meta={"automatic_edges": False})) == set()


@pytest.mark.parametrize(
    "user", [User(name="ada", groups=["web"]), User(name="ada", group=800), User(name="web")]
)
def test_a_user_goes_after_the_groups_it_is_in(user):
    assert edges(user, WEB) == {("group#web", user.ref)}


async def test_accounts_and_what_is_theirs_converge_in_one_go(tmp_path):
    path = tmp_path / "x"
    file = File(name=str(path), ensure="present", content="x", owner="ada", group="web", mode="0640")
    ended, story = await converge_once(file, ADA, WEB)
    assert ended.counts[Result.CHANGED] == 3
    assert len(story.checks(file.ref)) == 1, "it did not fail first"
    assert (path.owner(), path.group()) == ("ada", "web")


async def test_lines_that_are_no_accounts_of_this_host_are_left_alone():
    """As those of NIS, and of an editor's slip."""
    lines = {"passwd": "+::::::\nslip:x:12e4:800::/:\n", "group": "slip:x:80o:\n+:::\n"}
    for name, more in lines.items():
        path = Path("/etc", name)
        path.write_text(path.read_text() + more)
    ended, _ = await converge_once(ADA, WEB)
    assert ended.counts[Result.CHANGED] == 2
    for name, more in lines.items():
        assert all(line in Path("/etc", name).read_text().splitlines() for line in more.splitlines())


async def test_a_user_goes_before_its_group_does():
    await converge_once(ADA, WEB)
    gone = {"ensure": "absent"}
    ended, story = await converge_once(Group(name="web", **gone), User(name="ada", group="web", **gone))
    assert ended.counts[Result.CHANGED] == 2
    assert [check.ref for check in story.all(Checked)] == ["user#ada", "group#web"]
    assert "ada" not in Path("/etc/passwd").read_text()


ETC_READ_ONLY = """
import subprocess
import trio
from reactor import ResourceError
from reactor.resources.accounts.commands import change

subprocess.run(["mount", "--bind", "/etc", "/etc"], check=True)
subprocess.run(["mount", "-o", "remount,bind,ro", "/etc"], check=True)
try:
    trio.run(change, "groupadd", "of-a-sandbox")
except ResourceError as error:
    print(error.message.splitlines()[0])
    print(error.hint)
"""


def test_an_account_that_the_sandbox_of_a_service_forbids_is_refused_with_a_way_out():
    words, hint = run_in_namespaces(ETC_READ_ONLY)
    assert words == "groupadd failed with exit code 10"
    assert hint.startswith("mount the file system writable; if reactor is a service, its sandbox")
