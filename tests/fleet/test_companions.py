"""Tasks beside the engine: they may fail and are started again, and the run never waits for them."""

import trio

from reactor.cli.running.companions import FIRST_PAUSE, GOOD, LONGEST_PAUSE, supervise
from reactor.cli.running.network import LinkNews
from reactor.resource.watch import WatchState


class Failing:
    name = "the link"

    def __init__(self, lasts=0.0):
        self.starts = []
        self._lasts = lasts

    def __call__(self, event):
        pass

    def gauges(self):
        return ()

    async def run(self, engine, journal):
        self.starts.append(trio.current_time())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._fail)

    async def _fail(self):
        await trio.sleep(self._lasts)
        raise OSError("no route")


async def starts_of(companion, seconds):
    told = []
    with trio.move_on_after(seconds):
        await supervise(companion, None, None, told.append)
    return [
        round(after - before, 6)
        for before, after in zip(companion.starts, companion.starts[1:], strict=False)
    ], told


async def test_what_fails_is_started_again_after_a_pause_that_doubles(autojump_clock):
    pauses, told = await starts_of(Failing(), 2000)
    assert pauses[:4] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, 8 * FIRST_PAUSE]
    assert max(pauses) == LONGEST_PAUSE
    assert told[0] == "the link failed, and starts again in 1 s: OSError: no route"


async def test_after_long_work_the_pause_is_short_again(autojump_clock):
    pauses, _ = await starts_of(Failing(lasts=GOOD), 5 * GOOD)
    assert set(pauses) == {GOOD + FIRST_PAUSE}


class Recorder:
    """An engine, as `LinkNews` uses it."""

    def __init__(self):
        self.seen = []

    def emit(self, event):
        self.seen.append((event.state, event.reason))


def test_the_journal_of_a_long_outage_has_each_reason_once():
    recorder, news = Recorder(), LinkNews()
    up, down = WatchState.ARMED, WatchState.DOWN
    attempts = [(down, "nats1 is away"), (down, "nats2 is away")] * 1000
    for state, reason in ((up, "nats1"), (up, "nats1"), *attempts, (up, "nats1"), *attempts, (up, "nats2")):
        news.show(recorder, state, reason)
    outage = attempts[:2]
    assert recorder.seen == [(up, "nats1"), *outage, (up, "nats1"), *outage, (up, "nats2")]
