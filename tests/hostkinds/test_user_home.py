"""A home for a user who exists already."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hostkinds_worlds import shell

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.accounts import User
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once

HOME = Path("/home/ada")


@pytest.fixture
def ada():
    shell("useradd --uid 1500 --no-create-home --home-dir /home/ada ada")
    Path("/etc/skel/.config").mkdir()
    Path("/etc/skel/.config/app").write_text("usual\n")
    Path("/etc/skel/link").symlink_to("/etc/passwd")
    Path("/etc/skel/more").symlink_to(".config")


def tree():
    found = {str(path): path.lstat() for path in sorted(Path("/home").rglob("*"))}
    return {path: (stat.filemode(each.st_mode), each.st_uid, each.st_gid) for path, each in found.items()}


def missing():
    return Case(
        lambda: User(name="ada", home=str(HOME), create_home=True), tree, lambda: shell("rm -r /home/ada")
    )


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_a_home_for_one_who_exists_keeps_the_contract(promise, ada):
    await promise(missing())


async def test_all_of_it_belongs_to_the_user_and_nothing_else_does(ada):
    before = os.stat("/etc/passwd")
    await converge_once(User(name="ada", create_home=True))
    assert tree() == {
        "/home/ada": ("drwxr-x---", 1500, 1500),
        "/home/ada/.config": ("drwxr-xr-x", 1500, 1500),
        "/home/ada/.config/app": ("-rw-r--r--", 1500, 1500),
        "/home/ada/.profile": ("-rw-r--r--", 1500, 1500),
        "/home/ada/link": ("lrwxrwxrwx", 1500, 1500),
        "/home/ada/more": ("lrwxrwxrwx", 1500, 1500),
    }
    assert os.stat("/etc/passwd").st_uid == before.st_uid == 0
    ended, _ = await converge_once(User(name="ada", create_home=True))
    assert ended.changes == 0


async def test_a_new_user_gets_one_and_a_moved_one_is_not_made_anew():
    await converge_once(User(name="ada", home=str(HOME), create_home=True))
    (HOME / "mine").write_text("x")
    moved = User(name="ada", home="/home/lovelace", create_home=True, manage_home=True)
    _, story = await converge_once(moved)
    assert (Path("/home/lovelace/mine")).read_text() == "x"
    assert not HOME.exists()
    assert len(story.checks("user#ada")[0].actions) == 1


async def test_what_a_killed_run_left_is_replaced(ada):
    Path("/home/.ada.new.reactor/old").mkdir(parents=True)
    await converge_once(User(name="ada", create_home=True))
    assert [path.name for path in Path("/home").iterdir()] == ["ada"]
    assert not (HOME / "old").exists()


STEALING = """
import os, sys
os.setgid(1500)
os.setuid(1500)
os.chdir("/home/.ada.new.reactor")
os.rename(".config", "away")
os.symlink(sys.argv[1], ".config")
"""


@pytest.mark.parametrize("step", range(6))
async def test_who_gets_it_gets_nothing_else_by_a_symlink_while_it_is_made(ada, tmp_path, monkeypatch, step):
    """Ada waits for the directory, and acts after one of the steps of ours that give her something."""
    (tmp_path / "app").write_text("of root")
    give, steps = os.chown, iter(range(100))

    def given(*arguments, **options):
        give(*arguments, **options)
        if next(steps) == step:
            steal = [sys.executable, "-c", STEALING, tmp_path]
            subprocess.run(steal, capture_output=True, check=False)

    monkeypatch.setattr(os, "chown", given)
    await converge_once(User(name="ada", create_home=True))
    assert (tmp_path / "app").stat().st_uid == 0
    # The last step gives her the home itself.
    assert step == 5 or (HOME / ".config/app").read_text() == "usual\n"


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("usermod --home /home/no/such/ada ada", "/home/no/such does not exist"),
        (
            "mkdir /home/shared; chmod 0777 /home/shared; usermod --home /home/shared/ada ada",
            "users other than root can",
        ),
    ],
)
async def test_where_no_home_can_be_made_it_is_an_error_in_a_dry_run_too(before, words, ada):
    shell(before)
    seen = tree()
    for noop in (True, False):
        ended, story = await converge_once(User(name="ada", create_home=True), options=RunOptions(noop=noop))
        assert ended.counts[Result.FAILED] == 1
        assert words in story.checks("user#ada")[-1].error
    assert tree() == seen


async def test_whatever_is_at_its_place_stays(ada):
    HOME.write_text("a file\n")
    ended, _ = await converge_once(User(name="ada", create_home=True))
    assert ended.changes == 0
    assert HOME.read_text() == "a file\n"
