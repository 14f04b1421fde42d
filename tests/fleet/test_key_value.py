"""Key-value buckets at the real server."""

import pytest
import trio
from buckets import make_bucket
from nats_servers import PATIENCE

from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import MissingError, WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options


@pytest.fixture
async def bucket(js, request):
    made = js.key_value(request.node.name[:60])
    await make_bucket(made, history=5)
    return made


def shown(entry):
    return entry and (entry.key, entry.value, entry.operation)


async def test_put_get_and_history(bucket):
    first = await bucket.put("a.b", b"1")
    second = await bucket.put("a.b", b"2")
    entry = await bucket.get("a.b")
    assert (entry.value, entry.revision, second) == (b"2", second, first + 1)
    assert [each.value for each in await bucket.history("a.b")] == [b"1", b"2"]
    assert await bucket.get("never") is None
    assert await bucket.last("never") is None


async def test_a_wrong_revision_changes_no_key(bucket):
    revision = await bucket.create("k", b"1")
    with pytest.raises(WrongRevisionError):
        await bucket.create("k", b"2")
    with pytest.raises(WrongRevisionError):
        await bucket.update("k", b"2", revision + 1)
    revision = await bucket.update("k", b"3", revision)
    with pytest.raises(WrongRevisionError):
        await bucket.delete("k", revision=revision - 1)
    assert (await bucket.get("k")).value == b"3"


async def test_a_deleted_key_can_be_created_again(bucket):
    await bucket.put("k", b"1")
    revision = await bucket.delete("k")
    assert await bucket.get("k") is None
    last = await bucket.last("k")
    assert (last.operation, last.revision, last.value, last.deleted) == ("delete", revision, b"", True)
    assert await bucket.create("k", b"2") > revision


async def test_purge_removes_the_history(bucket):
    await bucket.put("k", b"1")
    await bucket.put("k", b"2")
    await bucket.purge("k")
    assert [shown(each) for each in await bucket.history("k")] == [("k", b"", "purge")]


async def test_keys_and_entries_of_many_pages(bucket):
    for number in range(2300):
        await bucket.js.connection.publish(f"{bucket.prefix}k.{number}", b"%d" % number)
    await bucket.js.connection.flush()
    await bucket.put("k.7", b"new")
    await bucket.delete("k.8")
    await bucket.put("other", b"")
    entries = {each.key: each.value for each in await bucket.entries("k.*")}
    assert entries == {f"k.{n}": b"%d" % n for n in range(2300) if n != 8} | {"k.7": b"new"}
    assert set(await bucket.keys()) == {*entries, "other"}
    assert await bucket.keys("other") == ["other"]
    assert await bucket.entries("none.>") == []


async def test_a_watch_gives_what_is_there_then_none_then_the_changes(bucket):
    await bucket.put("a", b"1")
    await bucket.put("b", b"1")
    await bucket.delete("b")
    async with bucket.watch() as watch:
        assert [shown(await anext(watch)) for _ in range(3)] == [
            ("a", b"1", "put"),
            ("b", b"", "delete"),
            None,
        ]
        await bucket.put("a", b"2")
        await bucket.purge("a")
        assert [shown(await anext(watch)) for _ in range(2)] == [("a", b"2", "put"), ("a", b"", "purge")]
    async with bucket.watch("a", "c") as watch:
        assert [shown(await anext(watch)) for _ in range(2)] == [("a", b"", "purge"), None]
        await bucket.put("b", b"not watched")
        await bucket.put("c", b"3")
        assert shown(await anext(watch)) == ("c", b"3", "put")


async def test_a_watch_that_ends_leaves_no_consumer(bucket):
    advisory = f"$JS.EVENT.ADVISORY.CONSUMER.DELETED.{bucket.stream}.*"
    with bucket.js.connection.messages(advisory) as deleted:
        async with bucket.watch() as watch:
            assert await anext(watch) is None
        with trio.fail_after(PATIENCE):
            await anext(deleted)
            while (await bucket.js.stream_info(bucket.stream))["state"]["consumer_count"]:
                pass  # the server announces it a moment before it counts


async def test_a_watch_of_nothing_gives_none_first_and_one_of_the_new_gives_no_past(bucket):
    async with bucket.watch("x.>") as watch:
        assert await anext(watch) is None
    await bucket.put("x.y", b"1")
    async with bucket.watch("x.>", start="new") as watch:
        assert await anext(watch) is None
        await bucket.put("x.y", b"2")
        assert shown(await anext(watch)) == ("x.y", b"2", "put")


async def test_a_watch_goes_on_after_the_server_was_killed(server, bucket):
    await bucket.put("k", b"1")
    async with bucket.watch() as watch:
        assert [shown(await anext(watch)) for _ in range(2)] == [("k", b"1", "put"), None]
        epoch = bucket.js.connection.epoch
        server.kill()
        server.start()
        async with connected(Options(servers=(server.url,)), seconds=PATIENCE) as other:
            await JetStream(other).key_value(bucket.bucket).put("k", b"2")
        with trio.fail_after(PATIENCE):
            assert shown(await anext(watch)) == ("k", b"2", "put")
        assert bucket.js.connection.epoch == epoch + 1


async def test_a_watch_notices_that_its_bucket_is_made_again_or_gone(bucket):
    async with bucket.watch() as watch:
        assert await anext(watch) is None
        for number in range(5):
            await bucket.put(f"old{number}", b"1")
            await anext(watch)
        await bucket.js.delete_stream(bucket.stream)
        await make_bucket(bucket)
        await bucket.put("new", b"2")
        with trio.fail_after(PATIENCE):
            assert shown(await anext(watch)) == ("new", b"2", "put")
        await bucket.js.delete_stream(bucket.stream)
        with pytest.raises(MissingError, match="there is no key-value bucket"), trio.fail_after(PATIENCE):
            await anext(watch)


async def test_a_value_with_a_time_to_live_goes_and_says_so(js):
    bucket = js.key_value("ttl")
    await make_bucket(bucket, allow_msg_ttl=True, subject_delete_marker_ttl=60_000_000_000)
    async with bucket.watch() as watch:
        assert await anext(watch) is None
        await bucket.put("k", b"1", ttl=1)
        with trio.fail_after(PATIENCE):
            assert [shown(await anext(watch)) for _ in range(2)] == [("k", b"1", "put"), ("k", b"", "purge")]
    assert await bucket.get("k") is None


async def test_a_missing_bucket_is_told_at_once_in_one_line(js):
    bucket = js.key_value("none")
    for call in (
        bucket.get("k"),
        bucket.put("k", b""),
        bucket.keys(),
        bucket.entries(),
        bucket.create("k", b""),
    ):
        with trio.fail_after(js.seconds * 0.9), pytest.raises(MissingError) as caught:
            await call
        where = js.connection.status.server
        assert str(caught.value) == f"there is no key-value bucket none at the NATS server {where}"
        assert caught.value.hint == "make it with `nats kv add none`, or correct the name"
    with pytest.raises(MissingError) as caught:
        await js.key_value("reactor_slots").get("k")
    assert caught.value.hint == "an operator makes it: reactor fleet init", (
        "nats kv add makes none that is safe"
    )


@pytest.mark.parametrize("key", ["", ".a", "a.", "a..b", "a b", "a*", ">", "ä", "a\r\nb"])
async def test_malformed_keys_are_refused(js, key):
    bucket = js.key_value("any")
    with pytest.raises(ValueError, match="not a key"):
        await bucket.put(key, b"")
    with pytest.raises(ValueError, match="not a key"):
        await bucket.get(key)


async def test_a_malformed_bucket_or_filter_is_refused(js, bucket):
    with pytest.raises(ValueError, match="not the name of a bucket"):
        js.key_value("a.b")
    with pytest.raises(ValueError, match="not a filter"):
        await bucket.keys("a.>.b")
