"""The calls of the ``nats`` CLI that pages of the documentation show, made with our own client.

``nats kv add|put|del``, ``nats object add|put|rm``, with the context CCM.
"""

import sys
from pathlib import Path

import trio
from buckets import make_bucket, make_store

from reactor.fleet.link.connection import connected
from reactor.fleet.link.context import read_context
from reactor.fleet.link.jetstream import JetStream


async def call(kind, action, bucket, *words):
    """Do one of the calls."""
    async with connected(read_context("CCM")) as connection:
        js = JetStream(connection)
        match kind, action, words:
            case "kv", "add", ():
                await make_bucket(js.key_value(bucket))
            case "kv", "put", (key, value):
                await js.key_value(bucket).put(key, value.encode())
            case "kv", "del", (key, "-f"):
                await js.key_value(bucket).delete(key)
            case "object", "add", ():
                await make_store(js.objects(bucket))
            case "object", "put", (file,):
                await js.objects(bucket).put(file, Path(file).read_bytes())
            case _:
                raise SystemExit(f"no page shows {kind} {action} {words}")


if __name__ == "__main__":
    trio.run(call, *sys.argv[1:])
