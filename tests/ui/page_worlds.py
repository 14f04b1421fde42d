"""The live page of a running engine, over real HTTP, and what browsers hear of it."""

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass

import h11
import httpx
import trio
from control_worlds import CONTINUOUS, World

from reactor.control.listen_address import Address
from reactor.control.tcp_listener import TcpListener
from reactor.testing.story import graph_of
from reactor.ui.access import Access
from reactor.ui.live_page import LivePage

LOOPBACK = Address("127.0.0.1", 0)
GUARD = 60
TOKEN = "a-token-that-nobody-can-guess-0123456789abc"
KNOWN = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Sinks:
    """Several sinks as one."""

    all: tuple

    def __call__(self, event):
        for sink in self.all:
            sink(event)


class PagedWorld(World):
    """A world with a page. ``address`` is where those who look find it, if not where it is."""

    def __init__(self, directory, resources, options, *, address=None):
        super().__init__(directory, resources, options)
        self.port = TcpListener(LOOPBACK)
        self.address = self.port.address
        access = Access(address or self.address, TOKEN)
        self.home = access.home
        self.page = LivePage(self.port, access, self.control, graph_of(resources), None)
        self.story.control = Sinks((self.control, self.page))
        self.url = f"http://{self.address}"

    def browser(self, **options):
        return httpx.AsyncClient(base_url=self.url, timeout=GUARD, **options)

    async def get(self, path, *, headers=KNOWN, **options):
        async with self.browser() as browser:
            return await browser.get(path, headers=headers, **options)

    async def post(self, path, body, **headers):
        origin = {"Origin": self.url, "Content-Type": "application/json", **KNOWN, **headers}
        async with self.browser() as browser:
            return await browser.post(path, content=json.dumps(body), headers=origin)

    def reload(self, *resources):
        """Another generation comes into force."""
        graph = graph_of(resources)
        self.page.drawing.adopt(graph)
        self.engine.reload(graph)


@asynccontextmanager
async def paged(directory, *resources, options=CONTINUOUS, **given):
    """A continuous engine over ``resources``, and its page."""
    world = PagedWorld(directory, resources, options, **given)
    async with trio.open_nursery() as nursery:
        await nursery.start(world.control.run, world.engine)
        nursery.start_soon(world.page.run, world.engine, world.told.append)
        await nursery.start(world.engine.run)
        yield world
        world.engine.cancel()
        nursery.cancel_scope.cancel()
    world.port.close()


class Reading:
    """What one browser hears of the stream: ``heard`` is the name, the id and the data of each message.

    ``resource_status`` is how everything stands by all that, and ``run`` the run as a whole.
    """

    def __init__(self, stream):
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT)
        self._text = ""
        self.heard = []
        self.resource_status = {}
        self.run = None

    async def ask(self, path, headers):
        """Send the request; return the status of the answer."""
        request = h11.Request(method="GET", target=path, headers=[("Host", "localhost"), *headers.items()])
        await self._stream.send_all(self._http.send(request) + self._http.send(h11.EndOfMessage()))
        return (await self._received()).status_code

    async def _received(self):
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._stream.receive_some())
        assert not isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)), "the stream has ended"
        return event

    async def next(self):
        """The next message that is no comment."""
        while True:
            while "\n\n" not in self._text:
                self._text += (await self._received()).data.decode()
            message, _, self._text = self._text.partition("\n\n")
            if not message.startswith(":"):
                fields = dict(line.split(": ", 1) for line in message.split("\n"))
                self.heard.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
                self._learn(fields["event"], self.heard[-1][2])
                return self.heard[-1]

    def _learn(self, name, data):
        if name == "status":
            self.resource_status = data["vertices"]
        elif name == "states":
            self.resource_status.update(data)
        if name in ("status", "run"):
            self.run = data.get("run", data)

    async def until(self, name, condition=lambda _: True):
        """The data of the next message called ``name`` that is as wanted."""
        with trio.fail_after(GUARD):
            while True:
                found, _, data = await self.next()
                if found == name and condition(data):
                    return data

    async def stands(self, ref, **wanted):
        """Wait until ``ref`` is known to stand like that."""
        with trio.fail_after(GUARD):
            while not wanted.items() <= self.resource_status.get(ref, {}).items():
                await self.next()

    async def runs(self, **wanted):
        """Wait until the run is known to be like that."""
        with trio.fail_after(GUARD):
            while not wanted.items() <= self.run.items():
                await self.next()

    async def event(self, name, ref=None):
        """Wait for an event of the engine."""
        return await self.until(
            "event", lambda event: event["event"] == name and ref in (None, event.get("ref"))
        )


@asynccontextmanager
async def reading(address, path="/stream", token=TOKEN, **headers):
    """Listen to the stream."""
    headers["Authorization"] = f"Bearer {token}"
    async with await trio.open_tcp_stream(address.host, address.port) as stream:
        page = Reading(stream)
        with trio.fail_after(GUARD):
            assert await page.ask(path, headers) == 200
        yield page
