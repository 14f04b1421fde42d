"""What happens to units while systemd can't be reached, on a jumping clock."""

from itertools import pairwise

import pytest
import trio
from watch_recorder import Recorder

from reactor.resource.watch import WatchState
from reactor.watchers import systemd
from reactor.watchers.dbus import NoBusError, Scope
from reactor.watchers.systemd import FIRST_WAIT, POLL_INTERVAL, UnitListener


class TimedRecorder(Recorder):
    """Also keeps when it was told to mark."""

    def __init__(self):
        super().__init__()
        self.times = []

    def mark(self, vertex, delay=0.0):
        self.times.append(trio.current_time())
        super().mark(vertex, delay)


@pytest.fixture
def attempts(monkeypatch):
    """The times at which a connection is tried, where there is no bus."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus")
    times, connect = [], systemd.connect

    async def noted(scope):
        times.append(trio.current_time())
        return await connect(scope)

    monkeypatch.setattr(systemd, "connect", noted)
    return times


async def test_units_are_marked_and_the_bus_is_tried_every_five_seconds(attempts, nursery, autojump_clock):
    sink = TimedRecorder()
    listener = UnitListener(Scope.SYSTEM, sink)
    nursery.start_soon(listener.run)
    began = trio.current_time()
    await listener.add("app.service", 7)
    assert trio.current_time() == began, "who is armed does not wait for a bus"
    await trio.sleep(31)
    nursery.cancel_scope.cancel()
    listener.close()
    waits = [after - before for before, after in pairwise(attempts)]
    assert waits[:4] == pytest.approx([FIRST_WAIT * 2**number for number in range(4)])
    assert waits[-3:] == pytest.approx([POLL_INTERVAL] * 3)
    assert sink.marked == {7}
    assert len(sink.times) == 6
    assert [after - before for before, after in pairwise(sink.times)] == pytest.approx([POLL_INTERVAL] * 5)
    ((state, reason, vertex),) = sink.reports
    assert (state, vertex) == (WatchState.POLLING, None)
    assert reason.endswith("until it is back, units are checked every 5 s")


async def test_after_a_long_connection_the_next_attempt_is_soon(monkeypatch, nursery, autojump_clock):
    times = []

    async def lost_after_a_while(scope):
        times.append(trio.current_time())
        await trio.sleep(POLL_INTERVAL + 1)
        raise NoBusError(f"the {scope} bus has ended")

    monkeypatch.setattr(systemd, "connect", lost_after_a_while)
    listener = UnitListener(Scope.SYSTEM, TimedRecorder())
    nursery.start_soon(listener.run)
    await trio.sleep(100)
    nursery.cancel_scope.cancel()
    listener.close()
    waits = [after - before - POLL_INTERVAL - 1 for before, after in pairwise(times)]
    assert waits == pytest.approx([FIRST_WAIT] * 16)
