"""Reads the managed files while runs are killed, as any program would, and notes what nobody ever declared."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from worlds import World

PAUSE = 0.001
"""Seconds between two looks: it must not take the processor from the runs that it watches."""

_context = multiprocessing.get_context("fork")


class Reader:
    """``torn`` is filled when the reading ends. It has a process of its own: one that forks must have one thread."""

    def __init__(self) -> None:
        self._generation = _context.Value("q", 0)
        self.torn: list[str] = []
        self.looks = 0

    @contextmanager
    def reading(self, world: World) -> Iterator[int]:
        """Read the files of ``world`` from now on, until the end of the block. Yields the id of the process."""
        found, told = _context.Pipe(duplex=False)
        ended = _context.Event()
        process = _context.Process(target=self._read, args=(world, ended, told), daemon=True)
        process.start()
        told.close()
        try:
            yield process.pid or 0
        finally:
            ended.set()
            self.torn, self.looks = found.recv()
            process.join()

    def declared(self, generation: int) -> None:
        """The manifest of ``generation`` is about to be written."""
        self._generation.value = generation

    def _read(self, world: World, ended, told) -> None:
        torn: list[str] = []
        looks = 0
        while not ended.is_set():
            generation = self._generation.value
            names = {**world.names(generation - 1), **world.names(generation)}
            if not names:
                break
            name, number = random.choice([*names.items()])
            with suppress(FileNotFoundError):
                text = (world.managed / name).read_text()
                looks += 1
                versions = range(generation - 1, self._generation.value + 1)
                if not any(text == world.content(number, version) for version in versions):
                    torn.append(f"{name} was read half-written: {text[:80]!r}")
            time.sleep(PAUSE)
        ended.wait()
        told.send((torn, looks))
