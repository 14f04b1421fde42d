"""JetStream at the real server: publish with acknowledgement, streams, single messages, reading in order."""

import pytest
import trio
from nats_servers import PATIENCE, NatsServer

from reactor.fleet.link.connection import connected
from reactor.fleet.link.direct_get import last_messages, messages_from
from reactor.fleet.link.errors import (
    ApiError,
    MissingError,
    NoAnswerError,
    NoRespondersError,
    WrongRevisionError,
)
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options


@pytest.fixture(params=[True, False], ids=["direct", "by-the-leader"])
async def stream(js, request):
    """The name of an empty stream; its subjects are below that name."""
    name = f"S{abs(hash(request.node.name))}"
    await js.create_stream(
        name, {"subjects": [f"{name}.>"], "allow_direct": request.param, "allow_rollup_hdrs": True}
    )
    return name


async def test_a_stored_message_is_acknowledged_and_can_be_read(js, stream):
    ack = await js.publish(f"{stream}.a", b"one", headers={"K": "v"})
    assert (ack.stream, ack.sequence, ack.duplicate) == (stream, 1, False)
    stored = await js.last_message(stream, f"{stream}.a")
    assert (stored.subject, stored.data, stored.headers["K"], stored.sequence) == (
        f"{stream}.a",
        b"one",
        "v",
        1,
    )
    assert stored.time > 1_700_000_000
    await js.publish(f"{stream}.b", b"two")
    await js.publish(f"{stream}.a", b"three")
    assert (await js.last_message(stream, f"{stream}.a")).data == b"three"
    assert (await js.last_message(stream, f"{stream}.b")).sequence == 2
    assert await js.last_message(stream, f"{stream}.none") is None


async def test_a_message_with_an_id_is_stored_once(js, stream):
    first = await js.publish(f"{stream}.a", b"x", message_id="id")
    again = await js.publish(f"{stream}.a", b"x", message_id="id")
    assert (again.sequence, again.duplicate) == (first.sequence, True)
    assert (await js.stream_info(stream))["state"]["messages"] == 1


async def test_a_write_whose_answer_was_lost_is_not_taken_for_another_writers(js, stream):
    """The server stores the first attempt and answers to the second that the revision is another."""
    lost = []
    really = js.connection.request

    async def request(subject, *args, **options):
        answer = await really(subject, *args, **options)
        if subject.startswith(stream) and not lost:
            lost.append(answer)
            raise NoAnswerError("lost")
        return answer

    js.connection.request = request
    ack = await js.publish(f"{stream}.k", b"1", last=0, message_id="mine", stream=stream)
    assert (ack.sequence, len(lost)) == (1, 1)
    with pytest.raises(WrongRevisionError):
        await js.publish(f"{stream}.k", b"1", last=0, message_id="other", stream=stream)


async def test_streams_are_made_updated_and_deleted(js):
    config = {"subjects": ["upd.>"], "max_msgs": 5}
    assert (await js.create_stream("UPD", config))["config"]["max_msgs"] == 5
    assert (await js.create_stream("UPD", config))["config"]["max_msgs"] == 5
    with pytest.raises(ApiError, match="already in use"):
        await js.create_stream("UPD", {**config, "max_msgs": 6})
    assert (await js.update_stream("UPD", {**config, "max_msgs": 7}))["config"]["max_msgs"] == 7
    await js.publish("upd.a", b"")
    await js.publish("upd.b", b"")
    assert await js.purge("UPD", "upd.a") == 1
    await js.delete_stream("UPD")
    with pytest.raises(MissingError, match="there is no stream UPD"):
        await js.stream_info("UPD")


async def test_what_no_stream_takes_is_told(js):
    with pytest.raises(NoRespondersError):
        await js.publish("nowhere", b"")
    with trio.fail_after(js.seconds * 0.9), pytest.raises(MissingError, match="there is no stream NONE"):
        await js.publish("nowhere", b"", message_id="x", stream="NONE")


async def test_a_server_without_jetstream_is_told_in_one_line(tmp_path):
    with NatsServer(tmp_path, jetstream=False) as running:
        async with connected(Options(servers=(running.url,))) as connection:
            with trio.fail_after(PATIENCE), pytest.raises(NoRespondersError) as caught:
                await JetStream(connection).key_value("b").get("k")
    assert str(caught.value) == f"JetStream does not answer at the NATS server {running.url}"
    assert caught.value.hint == "turn it on there with `jetstream {}`, and for the account of this user"


async def test_last_messages_and_messages_from(js):
    await js.create_stream("MANY", {"subjects": ["many.>"], "allow_direct": True})
    for number in range(29):
        await js.connection.publish(f"many.{number % 10}", b"%d" % number)
    await js.publish("many.9", b"29")  # acknowledged: it and all before it are stored
    assert [each.data for each in await last_messages(js, "MANY", ["many.3", "many.5"])] == [b"23", b"25"]
    assert await last_messages(js, "MANY", ["many.none"]) == []
    found = [each.sequence async for each in messages_from(js, "MANY", "many.*", 11, page=3)]
    assert found == list(range(11, 31))
    assert [each async for each in messages_from(js, "MANY", "many.x")] == []


async def past(js, stream, *subjects, **how):
    found = []
    async with js.reading(stream, subjects, **how) as reader:
        async for each in reader:
            if each is None:
                break
            found.append(each)
    return found


async def test_reading_gives_each_message_once_and_in_order_though_many_are_lost(js):
    """The queue of the reader is much too short for what comes."""
    await js.create_stream("ORDER", {"subjects": ["order.>"]})
    for number in range(2999):
        await js.connection.publish(f"order.{number % 3}", b"%d" % number)
    await js.publish("order.2", b"2999")
    from reactor.fleet.link import reading  # noqa: PLC0415 - only here

    real, reading.Messages = reading.Messages, lambda: real(400)
    try:
        found = await past(js, "ORDER", start="all")
    finally:
        reading.Messages = real
    assert [each.sequence for each in found] == list(range(1, 3001))
    assert [each.subject for each in await past(js, "ORDER")] == ["order.0", "order.1", "order.2"]
    assert len(await past(js, "ORDER", "order.1", "order.2", start="all")) == 2000
    assert [each.data for each in await past(js, "ORDER", headers_only=True)] == [b"", b"", b""]
    assert await past(js, "ORDER", start="new") == []


async def test_reading_a_missing_stream_is_told(js):
    with trio.fail_after(js.seconds * 0.9), pytest.raises(MissingError, match="there is no stream NONE"):
        await past(js, "NONE")


async def test_what_another_client_sends_to_the_reader_is_ignored(js):
    """Its inbox is a subject that all of the account may publish to."""
    await js.create_stream("FORGED", {"subjects": ["forged"]})
    async with js.reading("FORGED", start="all") as reader:
        assert await anext(reader) is None
        prefix = js.connection._inbox
        for number in range(1, 30):
            for reply in (None, "$JS.ACK.FORGED.c.1.9.9.1.0", "$JS.ACK.x", "a.b.c.d.e.f.g.h.i"):
                await js.connection.publish(f"{prefix}.r.{number}", b"forged", reply=reply)
        await js.publish("forged", b"true")
        with trio.fail_after(PATIENCE):
            assert (await anext(reader)).data == b"true"
    assert js.connection.epoch == 1, "a denied reply does not end the connection"
