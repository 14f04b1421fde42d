"""A running engine under control, on a real socket."""

import json
import os
import time
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import quote

import trio

from reactor.control.client import Client
from reactor.control.control import Control
from reactor.control.protocol import StatusQuery
from reactor.control.status_table import RunFacts
from reactor.engine.options import RunOptions
from reactor.metrics.tally import Tally
from reactor.testing.story import Story, graph_of

CONTINUOUS = RunOptions(watch=True, audit_interval=None)


class Caller(Client):
    """A client that also asks what no command asks."""

    def resource(self, ref):
        return self._ask("GET", f"/v1/resources/{quote(ref, safe='')}")

    def events(self):
        with self._answer("GET", "/v1/events", None) as response:
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))


class _Story(Story):
    """A story that others hear too."""

    def _on_event(self, event):
        super()._on_event(event)
        self.control(event)
        self.tally(event)


class World:
    """The story of an engine, its control, and what has been told to the person at the terminal."""

    def __init__(self, directory, resources, options=CONTINUOUS):
        self.told = []
        self.story = _Story(graph_of(resources), options)
        self.engine = self.story.engine
        facts = RunFacts("/etc/site.yaml", os.getpid(), time.time(), noop=options.noop)
        refs = self.engine.vertex_table.refs
        self.tally = Tally(refs, ("inotify",), facts.started)
        self.control = Control(str(directory), facts, refs, self.told.append, self.tally, listens=True)
        self.client = Caller(str(directory))
        self.story.control = self.control
        self.story.tally = self.tally

    async def status(self, **asked):
        return await self.ask("status", StatusQuery(**asked))

    async def ask(self, method, *args, **options):
        """Call a method of the client, in a thread as it blocks."""
        with trio.fail_after(60):
            return await trio.to_thread.run_sync(partial(getattr(self.client, method), *args, **options))


@asynccontextmanager
async def controlled(directory, *resources, **options):
    """A continuous engine over ``resources``, and its socket in ``directory``."""
    world = World(directory, resources, **options)
    async with trio.open_nursery() as nursery:
        await nursery.start(world.control.run, world.engine)
        await nursery.start(world.engine.run)
        yield world
        world.engine.cancel()
        nursery.cancel_scope.cancel()
