"""Which files have a say in which unit, and that changes of them are heard."""

from __future__ import annotations

import os

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from reactor.resources.service.unit_files import drop_ins_of, has_unread
from reactor.watchers.dbus import Scope
from reactor.watchers.unit_files import UnitFiles, concerns
from reactor.watchers.units import drop_in_names


@pytest.mark.parametrize(
    ("file", "unit", "expected"),
    [
        ("app.service", "app.service", True),
        ("app.service.d", "app.service", True),
        ("app.service", "other.service", False),
        ("app.socket", "app.service", False),
        ("app@.service", "app@1.service", True),
        ("app@.service.d", "app@1.service", True),
        ("app@1.service", "app@1.service", True),
        ("app@2.service", "app@1.service", False),
        ("app-.service.d", "app-web.service", True),
        ("app-.service.d", "apple.service", False),
        ("service.d", "app.service", True),
        ("service.d", "app.socket", False),
        ("app-.service", "app-web.service", False),
        (".app.service.swp", "app.service", False),
    ],
)
def test_files_and_drop_ins_concern_only_their_units(file, unit, expected):
    assert concerns(file, unit) is expected


@pytest.mark.parametrize(
    ("unit", "names"),
    [
        ("app.service", ["app.service", "service"]),
        ("app@1.socket", ["app@1.socket", "app@.socket", "socket"]),
        ("a-b-c.service", ["a-b-c.service", "a-b-.service", "a-.service", "service"]),
        ("-.mount", ["-.mount", "mount"]),
        (
            "a-b@x-y.service",
            ["a-b@x-y.service", "a-b@.service", "a-.service", "a-@x-y.service", "a-@.service", "service"],
        ),
    ],
)
def test_where_drop_ins_of_a_unit_may_be(unit, names):
    """The last as systemd 252 shows in DropInPaths, when there is one in each."""
    assert [*drop_in_names(unit)] == names


FIRST, SECOND = "first/app.service.d", "second/app.service.d"


@pytest.mark.parametrize(
    ("found", "read", "unread"),
    [
        ({}, [], False),
        ({f"{FIRST}/a.conf": "x"}, [], True),
        ({f"{FIRST}/a.conf": "x"}, [f"{FIRST}/a.conf"], False),
        ({f"{FIRST}/a.conf": ""}, [], False),
        ({f"{FIRST}/a.conf": None}, [], False),
        ({f"{FIRST}/a.conf": None, f"{FIRST}/b.conf": "x"}, [], True),
        ({}, ["elsewhere/a.conf"], False),
        ({f"{FIRST}/a.conf": "x"}, ["elsewhere/a.conf"], False),
        ({f"{FIRST}/a.conf": "x", f"{SECOND}/a.conf": "x"}, [f"{SECOND}/a.conf"], True),
        ({f"{FIRST}/a.conf": "x", f"{SECOND}/a.conf": "x"}, [f"{FIRST}/a.conf"], False),
        ({f"{FIRST}/a.conf": "", f"{SECOND}/a.conf": "x"}, [f"{SECOND}/a.conf"], True),
        ({f"{FIRST}/a.conf": "", f"{SECOND}/a.conf": "x"}, [], False),
        ({"second/service.d/a.conf": "x"}, [], True),
        ({"first/service.d/a.conf": "x", f"{SECOND}/a.conf": "x"}, ["first/service.d/a.conf"], True),
        ({f"{FIRST}/a.conf": "x"}, ["link/app.service.d/a.conf"], False),
    ],
)
def test_drop_ins_that_systemd_has_not_read(found, read, unread, tmp_path, monkeypatch):
    """What is None is a link that leads nowhere."""
    monkeypatch.setattr(
        "reactor.resources.service.unit_files.directories",
        lambda _: [f"{tmp_path}/{name}" for name in ("first", "second", "link")],
    )
    (tmp_path / "link").symlink_to("first")
    for path, text in found.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            (tmp_path / path).symlink_to("/nowhere")
        else:
            (tmp_path / path).write_text(text)
    there = drop_ins_of("app.service", Scope.SYSTEM)
    assert has_unread(there, [f"{tmp_path}/{path}" for path in read]) is unread


class Ears:
    def __init__(self):
        self.names = []
        self.losses = 0

    def lose(self):
        self.losses += 1

    async def until(self, name):
        with trio.fail_after(60):
            while name not in self.names:
                await trio.lowlevel.checkpoint()
        self.names.clear()


@pytest.fixture
async def listeners(tmp_path, nursery):
    (tmp_path / "multi-user.target.wants").mkdir()
    files = UnitFiles([str(tmp_path), str(tmp_path / "missing")])
    heard = Ears()
    nursery.start_soon(files.run, heard.names.append, heard.lose)
    await wait_all_tasks_blocked()
    yield heard
    nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True):
        await wait_all_tasks_blocked()
    files.close()


async def test_files_links_and_drop_ins_are_noticed_by_the_name_of_their_unit(tmp_path, listeners):
    (tmp_path / "app.service").write_text("x")
    await listeners.until("app.service")
    link = tmp_path / "multi-user.target.wants" / "app.service"
    link.symlink_to(tmp_path / "app.service")
    await listeners.until("app.service")
    link.unlink()
    await listeners.until("app.service")
    (tmp_path / "app.service.d").mkdir()
    await listeners.until("app.service.d")
    (tmp_path / "app.service.d" / "a.conf").write_text("x")
    await listeners.until("app.service.d")
    (tmp_path / "app.service").unlink()
    await listeners.until("app.service")


async def test_a_new_directory_of_links_is_noticed_with_what_is_in_it_already(tmp_path, listeners):
    ready = tmp_path / "ready"
    (ready / "x").mkdir(parents=True)
    (ready / "x" / "early.service").symlink_to("/dev/null")
    os.rename(ready / "x", tmp_path / "new.target.wants")
    await listeners.until("early.service")
    (tmp_path / "new.target.wants" / "late.service").symlink_to("/dev/null")
    await listeners.until("late.service")


async def test_a_directory_that_was_removed_and_made_again_is_noticed(tmp_path, listeners):
    wants = tmp_path / "multi-user.target.wants"
    wants.rmdir()
    await listeners.until("multi-user.target.wants")
    wants.mkdir()
    await listeners.until("multi-user.target.wants")
    (wants / "app.service").symlink_to("/dev/null")
    await listeners.until("app.service")
    assert not listeners.losses
