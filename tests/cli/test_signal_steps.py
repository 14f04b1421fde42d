"""The steps signals take, on a jumping clock."""

import os
import signal

import trio

from reactor.cli.running.signals import TIMEOUT, Interruption


class Asked:
    """Stands where the engine stands and notes what it is asked for, and when."""

    def __init__(self):
        self.log = []
        self.cancelled = trio.Event()

    def stop(self):
        self.log.append(("stop", trio.current_time()))

    def cancel(self):
        self.log.append(("cancel", trio.current_time()))
        self.cancelled.set()

    def running(self):
        return ["exec#x"]


async def test_a_termination_that_no_one_repeats_takes_the_next_step_by_itself(autojump_clock, nursery):
    engine, told = Asked(), []
    interruption = Interruption(engine, told.append)
    await nursery.start(interruption.listen)
    start = trio.current_time()
    os.kill(os.getpid(), signal.SIGTERM)
    await engine.cancelled.wait()
    assert engine.log == [("stop", start), ("cancel", start + TIMEOUT)]
    assert interruption.cut_short
    assert interruption.number == signal.SIGTERM
    assert [words.split(":")[0] for words in told] == [
        "stopping",
        "cancelling exec#x; interrupt again to kill their processes",
    ]


async def test_an_interrupt_from_the_keyboard_waits_for_the_next_one(autojump_clock, nursery):
    engine = Asked()
    interruption = Interruption(engine, lambda _: None)
    await nursery.start(interruption.listen)
    os.kill(os.getpid(), signal.SIGINT)
    await trio.sleep(100 * TIMEOUT)
    assert [word for word, _ in engine.log] == ["stop"]
    assert not interruption.cut_short
