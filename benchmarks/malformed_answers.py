"""Hostile answers of HTTP servers: 100,000 of them to health checks, and to downloads of data, manifests and archives.

Each must end in an answer or in an error for people: never in another exception, never after more than 2 s, and all of
them together in 300 MB. Ends with 1 when one did not.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import trio
from _answers import hostile
from _harness import arguments, progress, workspace
from _malformed import MOST_SECONDS, TRIES, Stopwatch, Tally, finish

from reactor import ResourceError
from reactor.loading import data_located
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError
from reactor.resources.archive import Archive
from reactor.resources.health.goss.http import HttpRule
from reactor.source.cache import fetched

SEED = 11
AT_ONCE = 4
PATIENCE_MS = 1500
"""What a health check waits: the server closes each connection, so nothing has to."""

Ask = Callable[[str, Path], Awaitable[None]]


async def health(url: str, _place: Path) -> None:
    """A health check that looks at all there is."""
    rule = HttpRule(timeout=PATIENCE_MS, status=200, headers=["x"], body=["name"])
    await rule.failures(url)


async def data(url: str, place: Path) -> None:
    """Data behind a URL."""
    inputs = Inputs(cache=str(place / "c"))
    await trio.to_thread.run_sync(data_located, f"{url}/x.yaml", inputs, print_nothing)


async def manifest(url: str, place: Path) -> None:
    """A packed manifest behind a URL."""
    await trio.to_thread.run_sync(fetched, f"{url}/x.tar.gz", str(place / "c"), print_nothing)


async def archive(url: str, place: Path) -> None:
    """An archive: fetched, and what came of it before is gone on with."""
    path = place / f"{next(NUMBERS) % 4}.tar"
    wanted = Archive(
        name=str(path), ensure="present", url=f"{url}/x.tar", owner="0", group="0", max_size="1MB"
    )
    for action in wanted.plan(await wanted.observe(), refresh=False):
        await action.run()


NUMBERS = itertools.count()
"""Of archives: some find what an earlier one left."""
ASKERS: tuple[Ask, ...] = (health, health, data, manifest, archive)


def print_nothing(_line: str) -> None:
    """Take a warning."""


class Server:
    """Sends ``answer`` to whoever connects, and closes."""

    def __init__(self) -> None:
        self.answer = b""
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._listening.setblocking(False)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    async def serve(self) -> None:
        """Serve until cancelled."""
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self._listening))
        await trio.serve_listeners(self._answer, [listener])

    async def _answer(self, stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError), trio.move_on_after(MOST_SECONDS):
            await stream.receive_some(65536)
            await stream.send_all(self.answer)
            await stream.send_eof()
            while await stream.receive_some(65536):
                pass
        await trio.aclose_forcefully(stream)


async def try_one(number: int, server: Server, place: Path, tally: Tally) -> None:
    """Have the answer of this number asked for."""
    ask = ASKERS[number % len(ASKERS)]
    server.answer = hostile(random.Random(SEED * 10**9 + number))
    watch = Stopwatch()
    try:
        await ask(server.url, place)
    except (ResourceError, ManifestError):
        tally.refused += 1
    except Exception:  # noqa: BLE001 - finding these is what this is for
        tally.faults.append(f"{ask.__name__}: {traceback.format_exc()}\n{server.answer[:2000]!r}")
    else:
        tally.taken += 1
    times = [watch.seconds]
    processor = watch.processor / AT_ONCE  # others are asked at the same time
    while times[-1] > MOST_SECONDS and len(times) < TRIES:
        watch = Stopwatch()
        with suppress(Exception):  # how it ends was seen at its first try
            await ask(server.url, place)
        times.append(watch.seconds)
    tally.note_times(f"number {number}, {ask.__name__} of {server.answer[:2000]!r},", times, processor)


async def attack(count: int, place: Path) -> Tally:
    """Give ``count`` answers, some at a time. An answer depends on its number alone."""
    tally, numbers = Tally(), iter(range(count))

    async def work(place: Path) -> None:
        os.mkdir(place)
        server = Server()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.serve)
            for number in numbers:
                await try_one(number, server, place, tally)
                if number % 1000 == 0:
                    progress(f"{number} of {count}")
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for task in range(AT_ONCE):
            nursery.start_soon(work, place / str(task))
    progress("")
    return tally


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, 100_000)
    count = 1000 if options.quick else options.count
    print(f"seed {SEED}")
    with workspace(options.dir) as place:
        tally = trio.run(attack, count, place)
    finish(f"hostile answers: {count:,}", tally)


if __name__ == "__main__":
    main()
