"""The watcher of containers, on a socket that announces what a test wants, as a daemon does."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked
from watch_recorder import Recorder

from reactor.resource.watch import WatchState
from reactor.watchers.containers import ContainerWatch, ContainerWatcher, Link

WEB, DB, LAST = 0, 1, 2
"""The vertices of the containers web and db, and of one whose event comes after all others."""


class Announcements:
    """The events of a daemon at ``path``."""

    def __init__(self, path):
        self.path = str(path)
        self.stream = None

    @asynccontextmanager
    async def served(self):
        """Answer requests for events while the block lasts; its end is the end of the daemon."""
        with trio.socket.socket(trio.socket.AF_UNIX) as sock:
            await sock.bind(self.path)
            sock.listen()
            async with trio.open_nursery() as nursery:
                await nursery.start(trio.serve_listeners, self._begin, [trio.SocketListener(sock)])
                yield
                nursery.cancel_scope.cancel()
        await trio.Path(self.path).unlink()

    async def _begin(self, stream):
        await stream.receive_some()
        self.stream = stream
        await stream.send_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await trio.sleep_forever()

    async def send(self, event):
        await wait_all_tasks_blocked()  # until the head of the answer is sent
        line = json.dumps(event).encode() + b"\n"
        await self.stream.send_all(b"%x\r\n%s\r\n" % (len(line), line))


def of_container(name, action, **attributes):
    return {"Type": "container", "Action": action, "Actor": {"Attributes": {"name": name, **attributes}}}


def of_network(name):
    return {"Type": "network", "Action": "destroy", "Actor": {"Attributes": {"name": name}}}


def of_network_of_podman(name):
    return {"Type": "network", "Action": "remove", "Actor": {"Attributes": {"name": "", "network": name}}}


@pytest.fixture
def daemon(tmp_path):
    return Announcements(tmp_path / "socket")


@pytest.fixture
def sink():
    return Recorder()


@pytest.fixture
def watcher(sink, nursery):
    made = ContainerWatcher(sink)
    nursery.start_soon(made.run)
    return made


def watch_of(daemon, name):
    return ContainerWatch(daemon.path, name, Link())


@pytest.mark.parametrize(
    ("event", "marked"),
    [
        (of_container("web", "die"), {WEB}),
        ({"Type": "container", "status": "died", "Actor": {"Attributes": {"name": "db"}}}, {DB}),
        (of_container("new", "rename", oldName="/web"), {WEB, DB, LAST}),
        (of_container("other", "start"), set()),
        (of_container("web", "exec_create: sh"), set()),
        (of_container("web", "health_status: healthy"), set()),
        ({"Type": "container", "Action": "die"}, set()),
        ({"Type": "image", "Action": "tag"}, {WEB, DB, LAST}),
        ({"Type": "image", "Action": "push"}, set()),
        ({"Type": "network", "Action": "destroy"}, {WEB, DB, LAST}),
        ({}, {WEB, DB, LAST}),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict | list) else "",
)
async def test_an_event_marks_the_containers_that_it_may_have_changed(daemon, sink, watcher, event, marked):
    async with daemon.served():
        for vertex, name in ((WEB, "web"), (DB, "db"), (LAST, "last")):
            await watcher.arm(watch_of(daemon, name), vertex)
        await daemon.send(event)
        await sink.until(lambda: sink.marked >= marked)
        found = sink.marked
        sink.marks.clear()
        await daemon.send(of_container("last", "die"))
        await sink.until(lambda: sink.marks)
        assert found | sink.marked == marked | {LAST}
    assert [report for report in sink.reports if report[0] is WatchState.ARMED] == []


@pytest.mark.parametrize("event_of", [of_network, of_network_of_podman])
async def test_a_watch_of_a_network_is_marked_by_the_events_of_this_network_alone(
    daemon, sink, watcher, event_of
):
    async with daemon.served():
        await watcher.arm(ContainerWatch(daemon.path, "web", Link(), "network"), WEB)
        await watcher.arm(watch_of(daemon, "last"), LAST)
        for other in (of_container("web", "die"), of_container("web", "rename"), event_of("db")):
            await daemon.send(other)
        await daemon.send(of_container("last", "die"))
        await sink.until(lambda: sink.marks.count((LAST, 0.0)) == 3)
        assert sink.marked == {LAST}
        await daemon.send(event_of("web"))
        await sink.until(lambda: WEB in sink.marked)


async def test_a_daemon_that_ended_is_connected_again_once_it_answers_a_check(daemon, sink, watcher):
    watch = watch_of(daemon, "web")
    async with daemon.served():
        await watcher.arm(watch, WEB)
    await sink.until(lambda: sink.marks)
    assert sink.reports == [(WatchState.DOWN, f"the daemon at {daemon.path} has ended", WEB)]

    sink.marks.clear()
    watch.link.reached()
    await wait_all_tasks_blocked()
    assert not sink.marks, "there is no daemon yet"

    async with daemon.served():
        watch.link.reached()
        await sink.until(lambda: sink.marks)
        assert sink.states == {WEB: WatchState.ARMED}
        sink.marks.clear()
        watch.link.reached()
        await daemon.send(of_container("web", "die"))
        await sink.until(lambda: sink.marks)
        assert len(sink.reports) == 2, "one connection is enough"


async def test_a_daemon_that_is_not_there_at_first_is_reported_and_followed_later(daemon, sink, watcher):
    watch = watch_of(daemon, "web")
    await watcher.arm(watch, WEB)
    ((state, reason, vertex),) = sink.reports
    assert (state, vertex) == (WatchState.DOWN, WEB)
    assert daemon.path in reason
    async with daemon.served():
        watch.link.reached()
        await sink.until(lambda: sink.states == {WEB: WatchState.ARMED})


async def test_a_container_that_is_watched_no_more_is_not_marked(daemon, sink, watcher):
    former, watch = watch_of(daemon, "web"), watch_of(daemon, "web")
    async with daemon.served():
        await watcher.arm(former, WEB)
        await watcher.arm(watch_of(daemon, "last"), LAST)
        watcher.disarm(watch, WEB)  # not the one that is armed
        await daemon.send(of_container("web", "die"))
        await sink.next_marks(WEB)
        watcher.disarm(former, WEB)
        await daemon.send(of_container("web", "die"))
        await daemon.send(of_container("last", "die"))
        await sink.until(lambda: sink.marks)
        assert sink.marked == {LAST}
