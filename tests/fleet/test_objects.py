"""Object stores at the real server."""

import contextlib
import os

import pytest
import trio
from buckets import make_store
from nats_servers import PATIENCE

from reactor.fleet.link.errors import DamagedError, LinkError, MissingError


@pytest.fixture
async def store(js, request):
    made = js.objects(request.node.name[:50].replace("[", "-").replace("]", ""))
    await make_store(made)
    return made


async def state(store):
    return (await store.js.stream_info(store.stream))["state"]["messages"]


@pytest.mark.parametrize("size", [0, 1, 131_072, 131_073, 3_000_000])
async def test_an_object_of_any_size_is_read_as_it_was_put(store, size):
    content = os.urandom(size)
    info = await store.put("a/b ä.tgz", content)
    assert (info.size, info.chunks) == (size, -(-size // 131_072))
    assert await store.read("a/b ä.tgz", largest=size) == content
    found = await store.info("a/b ä.tgz")
    assert found._replace(time=0.0) == info
    assert await state(store) == info.chunks + 1


async def test_pieces_of_odd_sizes_become_chunks_of_128_kib(store):
    info = await store.put("x", (b"y" * 50_000 for _ in range(10)))
    assert (info.size, info.chunks) == (500_000, 4)
    assert await store.read("x", largest=500_000) == b"y" * 500_000


async def test_a_new_content_replaces_the_old_and_leaves_no_chunks_of_it(store):
    await store.put("x", b"1" * 300_000)
    await store.put("x", b"2")
    assert await store.read("x", largest=10) == b"2"
    assert await state(store) == 2


async def test_a_failed_put_leaves_the_old_one(store):
    def broken():
        yield b"n" * 200_000
        raise OSError("the disk is gone")

    await store.put("x", b"old")
    with pytest.raises(OSError, match="the disk is gone"):
        await store.put("x", broken())
    assert await store.read("x", largest=10) == b"old"
    assert await state(store) == 2


async def test_deleted_and_missing_objects(store):
    await store.put("x", b"1")
    await store.put("y", b"2")
    await store.delete("x")
    assert (await store.info("x")).deleted
    assert [each.name for each in await store.list()] == ["y"]
    for call in (store.read("x", largest=9), store.read("z", largest=9), store.delete("x")):
        with pytest.raises(MissingError, match=r"there is no object [xz] in the object store"):
            await call
    assert await store.info("z") is None


async def test_a_watch_tells_of_each_change(store):
    await store.put("x", b"1")
    async with store.watch() as watch:
        assert (await anext(watch)).name == "x"
        assert await anext(watch) is None
        await store.put("y", b"2")
        await store.delete("x")
        assert [(each.name, each.deleted) for each in [await anext(watch), await anext(watch)]] == [
            ("y", False),
            ("x", True),
        ]
    async with store.watch("y") as watch:
        assert (await anext(watch)).name == "y"
        assert await anext(watch) is None
        await store.put("z", b"")
        await store.put("y", b"3")
        assert (await anext(watch)).size == 1


async def test_a_damaged_object_is_not_taken(store):
    info = await store.put("x", b"good")
    with pytest.raises(DamagedError, match=r"has 4 bytes; at most 3 are read"):
        await store.read("x", largest=3)
    await store.js.publish(f"$O.{store.bucket}.C.{info.nuid}", b"more")
    with pytest.raises(DamagedError, match="more bytes than its information says"):
        await store.read("x", largest=100)
    await store.js.purge(store.stream, f"$O.{store.bucket}.C.{info.nuid}")
    with pytest.raises(DamagedError, match="its size or digest is wrong"):
        await store.read("x", largest=100)
    await store.js.publish(f"$O.{store.bucket}.C.{info.nuid}", b"evil")
    with pytest.raises(DamagedError, match="its size or digest is wrong"):
        await store.read("x", largest=100)


@pytest.mark.parametrize(
    "information",
    [b"", b"{", b"[]", b"{}", b'{"name":"x","nuid":"*","size":1}', b'{"name":"x","nuid":"a","size":-1}',
     b'{"name":"x","nuid":"a","size":"1"}', b'{"name":7,"nuid":"a"}', b'{"name":"x","nuid":"a b","size":1}'],
)  # fmt: skip
async def test_malformed_information_is_told(js, information):
    store = js.objects("malformed")
    await make_store(store)
    await js.publish(store._subject("x"), information)
    with pytest.raises(DamagedError, match="is malformed"):
        await store.info("x")


async def test_a_store_that_does_not_allow_direct_reading(js):
    store = js.objects("leader")
    await make_store(store, allow_direct=False)
    await store.put("x", b"z" * 400_000)
    assert await store.read("x", largest=1 << 20) == b"z" * 400_000


async def test_a_missing_store_is_told_at_once_in_one_line(js):
    store = js.objects("none")
    for call in (store.info("x"), store.put("x", b""), store.read("x", largest=1), store.list()):
        with trio.fail_after(js.seconds * 0.9), pytest.raises(MissingError) as caught:
            await call
        where = js.connection.status.server
        assert str(caught.value) == f"there is no object store none at the NATS server {where}"
        assert caught.value.hint == "make it with `nats object add none`, or correct the name"
    with pytest.raises(ValueError, match="not the name of an object store"):
        js.objects("a b")
    with pytest.raises(ValueError, match="is empty"):
        await store.info("")


async def test_a_put_is_told_when_the_connection_breaks(server, store):
    with pytest.raises(LinkError):
        await store.put("x", kill_in_between(server))
    server.start()
    with trio.fail_after(PATIENCE):
        await store.js.connection.wait_up()
        while True:
            with contextlib.suppress(LinkError):
                found = await store.info("x")
                break
            await trio.lowlevel.checkpoint()
    assert found is None


def kill_in_between(server):
    yield b"a" * 300_000
    server.kill()
    for _ in range(100):
        yield b"a" * 300_000
