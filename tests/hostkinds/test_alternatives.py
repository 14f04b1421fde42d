"""The kind alternatives, by the real update-alternatives on a database of the test's own."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import one_shot
import pytest
from hostkinds_worlds import assert_undone, shell

from reactor.engine.events import Result
from reactor.resource.plan import ResourceError
from reactor.resources.alternatives import Alternatives
from reactor.resources.alternatives.database import parse_group, read_group
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

DATABASE = Path("/var/lib/dpkg/alternatives")
LINKS = Path("/etc/alternatives")


@pytest.fixture(scope="module", autouse=True)
def own_database():
    subprocess.run(["mount", "-t", "tmpfs", "own", DATABASE], check=True)
    yield
    subprocess.run(["umount", DATABASE], check=True)


@pytest.fixture(autouse=True)
def editors(tmp_path):
    """A group of two editors with manual pages: vim has the higher priority."""
    LINKS.mkdir(exist_ok=True)
    for path in DATABASE.iterdir():
        path.unlink()
    for name in ("vim", "nano", "ed", "vim.1", "nano.1"):
        (tmp_path / name).write_text(name)
    for name, priority in (("vim", 50), ("nano", 40)):
        link, page = tmp_path / "editor", tmp_path / "editor.1"
        shell(
            'update-alternatives --quiet --install "$1" editor "$2" "$3" --slave "$4" editor.1 "$2.1"',
            link, tmp_path / name, str(priority), page,
        )  # fmt: skip
    return tmp_path


def now():
    """The status, where the common name leads, and where its manual page does."""
    group = read_group("editor")
    link = Path(group.link) if group else None
    return (group and group.mode), link and link.resolve().name, link and Path(f"{link}.1").resolve().name


def world():
    files = sorted((each.name, each.read_text()) for each in DATABASE.iterdir())
    return files, sorted((each.name, os.readlink(each)) for each in LINKS.iterdir())


async def converge(*, noop=False, **properties):
    resource = Alternatives(name="editor", **properties)
    return await one_shot.converged(resource, noop=noop)


must_change = partial(one_shot.must_change, converge, is_literal=False)
must_fail = partial(one_shot.must_fail, converge, seen=world)


def chosen(root):
    (root / "ed").write_text("ed")

    def spoil():
        shell("update-alternatives --quiet --auto editor")

    return Case(lambda: Alternatives(name="editor", path=str(root / "nano")), world, spoil)


def link_replaced(root):
    def spoil():
        (LINKS / "editor").unlink()
        (LINKS / "editor").symlink_to("/bin/true")

    return Case(lambda: Alternatives(name="editor", path=str(root / "nano")), world, spoil)


@pytest.mark.parametrize("case", [chosen, link_replaced], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_contract(promise, case, editors):
    await promise(case(editors))


async def test_a_choice_is_made_and_given_back_to_the_priorities(editors):
    await must_change(path=str(editors / "nano"))
    assert now() == ("manual", "nano", "nano.1")
    assert await must_change(mode="auto") == f"chose {editors / 'vim'} by its priority"
    assert now() == ("auto", "vim", "vim.1")


async def test_the_best_choice_may_be_made_by_hand(editors):
    await must_change(path=str(editors / "vim"))
    assert now() == ("manual", "vim", "vim.1")


async def test_an_alternative_is_added_and_chosen(editors):
    wanted = {"path": str(editors / "ed"), "link": str(editors / "editor"), "priority": 10}
    await must_change(**wanted)
    assert now()[:2] == ("manual", "ed")
    await must_change(**{**wanted, "priority": 90, "mode": "auto"})
    assert now()[:2] == ("auto", "ed")
    await must_change(ensure="absent", path=str(editors / "ed"))
    assert now() == ("auto", "vim", "vim.1")


async def test_another_priority_keeps_the_manual_page(editors):
    wanted = {"path": str(editors / "nano"), "link": str(editors / "editor"), "priority": 90, "mode": "auto"}
    await must_change(**wanted)
    assert now() == ("auto", "nano", "nano.1")


async def test_a_new_group_is_made(editors):
    resource = Alternatives(name="pager", path=str(editors / "ed"), link=str(editors / "pager"), priority=1)
    await converge_once(resource)
    assert (editors / "pager").resolve() == editors / "ed"
    await converge_once(Alternatives(name="pager", ensure="absent"))
    assert not os.path.lexists(editors / "pager")
    assert read_group("pager") is None


@pytest.mark.parametrize("spoilt", ["link", "choice"])
async def test_a_broken_link_is_repaired(editors, spoilt):
    await must_change(path=str(editors / "nano"))
    path = LINKS / "editor" if spoilt == "choice" else editors / "editor"
    path.unlink()
    await must_change(path=str(editors / "nano"))
    path.unlink()
    path.symlink_to("/bin/true")
    await must_change(path=str(editors / "nano"))
    assert now() == ("manual", "nano", "nano.1")
    await must_change(mode="auto")
    path.unlink()
    path.symlink_to("/bin/true")
    await must_change(mode="auto")
    assert now() == ("auto", "vim", "vim.1")


async def test_what_is_no_alternative_is_refused(editors):
    assert "is not an alternative of editor" in await must_fail(path=str(editors / "ed"))
    assert "there is no " in await must_fail(path=str(editors / "emacs"))
    assert "the link of editor is" in await must_fail(
        path=str(editors / "vim"), link="/usr/bin/x", priority=1
    )


async def test_a_file_in_place_of_the_common_name_is_left_alone(editors):
    (editors / "editor").unlink()
    (editors / "editor").write_text("mine")
    assert (await converge(path=str(editors / "nano"), noop=True))[0] is Result.FAILED
    assert (await converge(path=str(editors / "nano")))[0] is Result.FAILED
    assert (editors / "editor").read_text() == "mine"


@pytest.mark.parametrize(
    "text", ["", "auto\n", "sometimes\n/x\n\n", "auto\n/usr/bin/x\n\n/bin/y\nmany\n\n", "\0"]
)
async def test_a_damaged_database_is_told(editors, text):
    (DATABASE / "editor").write_text(text)
    if text:
        with pytest.raises(ResourceError, match="is damaged"):
            await Alternatives(name="editor", path=str(editors / "vim")).observe()
    else:
        assert (await Alternatives(name="editor", path=str(editors / "vim")).observe()).group is None


def test_the_database_of_a_group_is_read_whole():
    group = parse_group(
        "manual\n/usr/bin/e\ne.1\n/man/e.1\ne.2\n/man/e.2\n\n/bin/a\n-5\n/a.1\n\n/bin/b\n7\n\n/b.2\n\n"
    )
    assert (group.mode, group.link) == ("manual", "/usr/bin/e")
    assert {path: choice.priority for path, choice in group.choices.items()} == {"/bin/a": -5, "/bin/b": 7}
    assert group.choices["/bin/a"].slaves == {"e.1": "/a.1", "e.2": ""}
    assert group.choices["/bin/b"].slaves == {"e.1": "", "e.2": "/b.2"}


async def test_it_can_be_undone(editors):
    await assert_undone(Alternatives(name="editor", path=str(editors / "nano")), now)


async def test_a_choice_by_hand_is_undone_at_once(editors):
    resource = Alternatives(name="editor", path=str(editors / "nano"))
    async with running(resource) as story:
        await story.converged()
        shell('update-alternatives --quiet --set editor "$1"', editors / "vim")
        await story.until(lambda: now() == ("manual", "nano", "nano.1"))


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({}, "path is missing"),
        ({"mode": "manual"}, "path is missing"),
        ({"path": "/a", "link": "/b"}, "come together"),
        ({"path": "/a", "mode": "auto"}, "the priority decides"),
        ({"mode": "auto", "link": "/b", "priority": 1}, "requires path"),
        ({"path": "/a", "link": "/a", "priority": 1}, "are the same"),
        ({"ensure": "absent", "mode": "auto"}, "only valid with"),
    ],
)
def test_contradictions_are_found_at_load(properties, words):
    with pytest.raises(ValueError, match=words):
        Alternatives(name="editor", **properties)
