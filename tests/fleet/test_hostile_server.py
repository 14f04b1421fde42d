"""A server that is hostile, broken, or something else: it ends the connection at most, and is told in one line."""

import json
import re
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from nats_servers import PATIENCE

from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.direct_get import last_messages
from reactor.fleet.link.errors import (
    ApiError,
    ForeignServerError,
    LinkError,
    NoAnswerError,
    TlsError,
    UnreachableError,
)
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options, Timing
from reactor.fleet.wire.nkeys import Key

INFO = b'INFO {"server_id":"x","max_payload":1048576,"headers":true}\r\n'
QUICK = Timing(handshake=0.3, first_pause=0.01)
"""For servers that never finish a handshake."""
UNHURRIED = Timing(handshake=PATIENCE, ping=PATIENCE)
ENDED = (trio.BrokenResourceError, trio.ClosedResourceError)


@asynccontextmanager
async def serving(behave):
    """The URL of a server that treats every connection so."""

    async def handle(stream):
        try:
            await behave(stream)
        except ENDED:
            return

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, handle, 0, host="127.0.0.1"))
        yield f"nats://127.0.0.1:{listener.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def greet(stream, info=INFO):
    await stream.send_all(info)
    data = b""
    while not data.endswith(b"PING\r\n"):
        received = await stream.receive_some()
        if not received:
            raise trio.BrokenResourceError
        data += received
    await stream.send_all(b"PONG\r\n")


def sending(data, *, greeting=False, for_ever=False, seconds=0.0):
    """Send ``data`` and wait; or send it for ever, a byte at a time if ``seconds`` are given."""

    async def behave(stream):
        if greeting:
            await greet(stream)
        await stream.send_all(data)
        while for_ever:
            await trio.sleep(seconds)
            await stream.send_all(b"x" if seconds else data)
        await trio.sleep_forever()

    return behave


async def refusal(behave, sort, *, timing=UNHURRIED, **options):
    """What people read about a server that never becomes one."""
    async with serving(behave) as url:
        with pytest.raises(sort) as caught:
            async with connected(Options(servers=(url,), **options), timing=timing, seconds=PATIENCE):
                pass
        return str(caught.value).replace(url, "URL")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x" * 100_000, "a line is longer than 65,536 bytes"),
        (b"INFO {" + b" " * 1_000_000 + b"}\r\n", "a line is longer than 65,536 bytes"),
        (b"INFO " + b"[" * 60_000 + b"\r\n", "not a JSON object"),
        (b"INFO 7\r\n", "not a JSON object: '7'"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an unknown operation: 'SSH-2.0-OpenSSH_9.2'"),
        (b"HTTP/1.1 400 Bad Request\r\n", "an unknown operation: 'HTTP/1.1 400 Bad Request'"),
        (b"\x1b]0;evil\x07\r\n", r"an unknown operation: '\\x1b]0;evil\\x07'"),
        (b"PING\r\n", "it does not begin with INFO alone"),
        (INFO + b"MSG a 1 1\r\nx\r\n", "it does not begin with INFO alone"),
    ],
)  # fmt: skip
async def test_what_is_no_nats_server_is_told(data, reason):
    text = await refusal(sending(data), ForeignServerError)
    assert text.startswith("what listens at URL is not a NATS server: ")
    assert reason.replace("\\\\", "\\") in text
    assert len(text) < 200


async def test_an_endless_line_ends_though_it_comes_byte_by_byte():
    assert "no answer in time" in await refusal(
        sending(b"INFO {", for_ever=True, seconds=0.01), UnreachableError, timing=QUICK
    )


async def test_silence_ends():
    assert "no answer in time" in await refusal(sending(b""), UnreachableError, timing=QUICK)


async def test_a_server_that_says_nothing_after_its_info_may_be_about_to_refuse_the_client():
    """nats-server lets who is refused wait for seconds."""
    words = "gives a client without user and password no answer in time"
    assert words in await refusal(sending(INFO), UnreachableError, timing=QUICK)


async def test_a_handshake_of_tls_that_never_ends():
    info = INFO.replace(b"}", b',"tls_required":true}')
    assert "no answer in time" in await refusal(sending(info), UnreachableError, timing=QUICK)


async def test_what_comes_after_info_is_not_taken_as_if_it_came_over_tls():
    info = INFO.replace(b"}", b',"tls_required":true}')
    assert "INFO alone" in await refusal(sending(info + b"-ERR 'x'\r\n"), ForeignServerError)


async def test_no_tls_where_it_is_wanted_is_refused_before_the_password_is_sent():
    received = bytearray()

    async def listen(stream):
        await stream.send_all(INFO)
        async for data in stream:
            received.extend(data)

    async with serving(listen) as url:
        with pytest.raises(TlsError, match="does not use TLS"):
            async with connected(Options(servers=(url.replace("nats", "tls"),), user="u", password="sesame")):
                pass
    assert received == b""


@pytest.mark.parametrize("nonce", [7, "", "x" * 5000, "ä", None, ["x"]])
async def test_an_odd_nonce_is_not_signed(nonce):
    info = b"INFO " + json.dumps({"server_id": "x", "nonce": nonce}).encode() + b"\r\n"
    await refusal(sending(info), ForeignServerError, seed=Key.generate().seed)


async def test_the_text_of_an_error_cannot_control_the_terminal():
    async def refuse(stream):
        await stream.send_all(INFO)
        await stream.receive_some()
        await stream.send_all(b"-ERR 'Authorization \x1b[2J\x07 " + b"long " * 1000 + b"'\r\n")

    text = await refusal(refuse, LinkError)
    assert text.isprintable()
    assert "Authorization ?[2J?" in text
    assert len(text) < 700


async def ending(behave, *, subject="a", timing=UNHURRIED):
    """Why a connection ends that was up, as people read it."""
    reasons = []
    ended = trio.Event()

    def look(status):
        if status.why is not None:
            reasons.append(status.why)
            ended.set()

    async with serving(behave) as url, trio.open_nursery() as nursery:
        connection = Connection(Options(servers=(url,)), timing=timing)
        with connection.watched(look), connection.subscribed(subject, lambda _: None):
            nursery.start_soon(connection.run)
            with trio.fail_after(PATIENCE):
                await ended.wait()
        nursery.cancel_scope.cancel()
    return str(reasons[0])


@pytest.mark.parametrize(
    "data",
    [b"MSG a 1 99999999\r\n", b"MSG a 1 -1\r\n", b"MSG a 2 1\r\nxyz\r\n", b"HMSG a 2 9 3\r\n", b"MSG a\r\n", b"nonsense\r\n",
     b"INFO [\r\n"],
)  # fmt: skip
async def test_a_broken_rule_ends_the_connection(data):
    assert "is not a NATS server" in await ending(sending(data, greeting=True))


async def test_a_message_that_drips_ends_the_connection():
    dripping = sending(b"MSG a 2 9000\r\n", greeting=True, for_ever=True, seconds=0.01)
    assert "does not answer any more" in await ending(dripping, timing=UNHURRIED._replace(ping=0.05))


async def test_ping_without_end_ends_the_connection():
    assert "sends PING and does not read" in await ending(
        sending(b"PING\r\n" * 1000, greeting=True, for_ever=True)
    )


async def test_messages_before_the_client_is_known_end_the_connection():
    async def behave(stream):
        await stream.send_all(INFO)
        await stream.receive_some()
        await stream.send_all(b"MSG a 1 1\r\nx\r\n" * 1000)
        await trio.sleep_forever()

    assert "before it knows the client" in await refusal(behave, ForeignServerError)


async def test_messages_for_nobody_and_odd_news_are_ignored():
    odd = b'INFO {"connect_urls": 7, "ldm": null, "max_payload": "x"}\r\n'
    told = (
        b"INFO " + json.dumps({"connect_urls": [f"h{number}:1" for number in range(4000)]}).encode() + b"\r\n"
    )
    data = b"MSG a 77 1\r\nx\r\n" * 10_000 + b"PONG\r\n" * 1000 + odd + told
    got = []

    async def behave(stream):
        await greet(stream)
        await stream.send_all(data + b"MSG a 2 4\r\nlast\r\n")
        await trio.sleep_forever()

    async with serving(behave) as url, trio.open_nursery() as nursery:
        connection = Connection(Options(servers=(url,)))
        nursery.start_soon(connection.run)
        with connection.messages("a") as messages, trio.fail_after(PATIENCE):
            got.append(await anext(messages))
        assert (got[0].data, connection.epoch) == (b"last", 1)
        assert len(connection.pool) == 65
        nursery.cancel_scope.cancel()


def answering(*answers):
    """Answer each request with these bytes: a whole message but for its first line."""

    async def behave(stream):
        await greet(stream)
        async for data in stream:
            await stream.send_all(b"PONG\r\n" * data.count(b"PING\r\n"))
            for reply in re.findall(rb"PUB \S+ (_INBOX\S+) ", data):
                for headers, body in answers:
                    block = b"NATS/1.0" + headers + b"\r\n\r\n"
                    sizes = b"%d %d" % (len(block), len(block) + len(body))
                    await stream.send_all(b"HMSG %s 1 %s\r\n%s%s\r\n" % (reply, sizes, block, body))

    return behave


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"error": 7}', b'{"seq": "1"}', b'{"seq": 1e400}', b"[" * 50_000, b'{"error": {}}',
     b'{"error": {"code": "x", "err_code": [], "description": {"a": "\\u001b[2J"}}}', b"\xff"],
)  # fmt: skip
async def test_answers_of_jetstream_that_make_no_sense_are_told(body):
    async with serving(answering((b"", body))) as url, connected(Options(servers=(url,))) as link:
        js = JetStream(link)
        for call in (js.publish("a", b""), js.key_value("b").put("k", b""), js.key_value("b").get("k")):
            with trio.fail_after(PATIENCE), pytest.raises((ForeignServerError, ApiError)) as caught:
                await call
            assert str(caught.value).isprintable()


async def test_answers_of_a_batch_that_never_end_time_out():
    fields = b"\r\nNats-Sequence: 1\r\nNats-Subject: a"
    async with serving(answering((fields, b"x"))) as url, connected(Options(servers=(url,))) as link:
        with trio.fail_after(PATIENCE), pytest.raises(NoAnswerError):
            await last_messages(JetStream(link, seconds=0.1), "S", ["a"])


async def test_answers_of_a_batch_are_bounded():
    fields = b"\r\nNats-Sequence: 1\r\nNats-Subject: a"
    large = [(fields, b"x" * 1_000_000)] * 70
    async with serving(answering(*large)) as url, connected(Options(servers=(url,))) as link:
        with trio.fail_after(PATIENCE), pytest.raises(ForeignServerError, match="are too large"):
            await last_messages(JetStream(link, seconds=PATIENCE, first_wait=PATIENCE), "S", ["a"])
