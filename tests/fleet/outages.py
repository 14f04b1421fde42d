"""What a writer and a watcher go through while servers die. `run.py` has more of it than the tests."""

from itertools import pairwise

import trio
from buckets import make_bucket
from nats_servers import PATIENCE

from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options


async def ready(js, bucket, replicas, seconds=PATIENCE):
    """Wait until a cluster has elected its leaders, and make the bucket."""
    with trio.fail_after(seconds):
        while True:
            try:
                await make_bucket(js.key_value(bucket), replicas=replicas, history=-1)
                info = await js.stream_info(f"KV_{bucket}")
                if info["cluster"].get("leader"):
                    return info
            except LinkError:
                pass
            await trio.sleep(0.1)


class Traffic:
    """Numbers written one by one to a key until they are acknowledged, and those that a watcher has seen."""

    def __init__(self):
        self.acknowledged = []
        self.seen = []
        self.elected = []
        self._news = trio.Event()

    async def write(self, js, bucket):
        """Write for ever. A number whose fate is not known is written again, under the same id."""
        number = 0
        while True:
            number += 1
            subject, value = f"$KV.{bucket}.counter", b"%d" % number
            while True:
                try:
                    await js.publish(subject, value, message_id=f"n{number}")
                    break
                except LinkError:
                    await trio.sleep(0.02)
            self.acknowledged.append((number, trio.current_time()))
            self._tell()
            await trio.sleep(0.005)

    async def watch(self, js, bucket):
        """Watch for ever."""
        async with js.key_value(bucket).watch("counter", start="all") as watch:
            async for entry in watch:
                if entry is not None:
                    self.seen.append(int(entry.value))
                    self._tell()

    async def listen(self, connection, bucket):
        """Note for ever when a leader is elected."""
        with connection.messages(f"$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.KV_{bucket}") as elections:
            async for _ in elections:
                self.elected.append(trio.current_time())

    def _tell(self):
        self._news.set()
        self._news = trio.Event()

    async def until_acknowledged(self, count):
        """Wait until as many numbers are acknowledged."""
        while len(self.acknowledged) < count:
            await self._news.wait()

    async def until_seen(self, number):
        """Wait until the watcher has seen a number."""
        while not self.seen or self.seen[-1] < number:
            await self._news.wait()

    @property
    def longest_gap(self):
        """Seconds between two acknowledgements."""
        begun, ended = self._gap()
        return ended - begun

    @property
    def lag(self):
        """Seconds from the last election in the longest gap to its end; 0 if that was heard later."""
        begun, ended = self._gap()
        return ended - max((when for when in self.elected if begun <= when <= ended), default=ended)

    def _gap(self):
        times = [when for _, when in self.acknowledged]
        return max(pairwise(times), key=lambda two: two[1] - two[0])

    def check(self, last):
        """Raises AssertionError if a number up to ``last`` is lost, doubled or out of order."""
        written = [number for number, _ in self.acknowledged]
        assert written == list(range(1, len(written) + 1))
        assert self.seen == list(range(1, len(self.seen) + 1)), (
            "none is missed, none comes twice, all in order"
        )
        assert len(self.seen) >= last


async def leader_dies(cluster, bucket, *, how="kill", before=0.5, after=2.0):
    """Kill the leader of a bucket while it is written to and watched; returns the gap in seconds, and the traffic."""
    first, second, third = cluster.urls
    options = [
        Options(servers=urls)
        for urls in ((first, second, third), (second, third, first), (third, first, second))
    ]
    async with connected(options[0], seconds=PATIENCE) as one, connected(options[1], seconds=PATIENCE) as two:
        js = JetStream(one)
        info = await ready(js, bucket, 3)
        leader = cluster.named(info["cluster"]["leader"])
        traffic = Traffic()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(traffic.write, js, bucket)
            nursery.start_soon(traffic.watch, JetStream(two), bucket)
            nursery.start_soon(traffic.listen, two, bucket)
            await trio.sleep(before)
            at = len(traffic.acknowledged)
            getattr(leader, how)()
            with trio.fail_after(PATIENCE):
                await traffic.until_acknowledged(at + 20)
                await trio.sleep(after)
                last = traffic.acknowledged[-1][0]
                await traffic.until_seen(last)
            nursery.cancel_scope.cancel()
        traffic.check(last)
        assert one.up
        assert two.up
        return traffic.longest_gap, traffic, leader
