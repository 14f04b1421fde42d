"""The parser gives the same operations however the bytes are cut, and bounds what a server may send."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.fleet.wire import commands
from reactor.fleet.wire.headers import encode_headers, parse_headers
from reactor.fleet.wire.parser import (
    LONGEST_LINE,
    Info,
    Message,
    Parser,
    Ping,
    Pong,
    ProtocolError,
    ServerError,
)

SESSION = (Path(__file__).parent / "recorded/session.bin").read_bytes()
"""What nats-server 2.15.1 sent to a client with `verbose`."""


def parsed(*pieces, largest=1 << 20):
    parser = Parser(largest)
    return [operation for piece in pieces for operation in parser.feed(piece)]


WHOLE = parsed(SESSION)


def test_the_recorded_session_is_understood():
    info, *rest, ping, again, stale = WHOLE
    assert info.values["version"] == "2.15.1"
    assert (ping, again, stale) == (Ping(), Ping(), ServerError("Stale Connection"))
    hello, with_headers, no_responders, denied, empty, pong, answer = rest
    assert hello == Message("a.b", 1, None, b"hello")
    assert with_headers == Message("a.c", 1, "r.e", b"with\r\nx", {"One": "1", "B": ""})
    assert no_responders == Message("_I.1", 2, None, b"", {"Nats-Subject": "none"}, 503)
    assert denied == ServerError('Permissions Violation for Publish to "no"')
    assert (empty, pong) == (Message("a.d", 1, None, b""), Pong())
    assert (answer.subject, len(answer.data)) == ("_I.2", 373)


def test_every_split_in_two_gives_the_same():
    for at in range(len(SESSION) + 1):
        assert parsed(SESSION[:at], SESSION[at:]) == WHOLE


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 1000])
def test_every_size_of_pieces_gives_the_same(size):
    assert parsed(*(SESSION[at : at + size] for at in range(0, len(SESSION), size))) == WHOLE


SUBJECT = st.sampled_from(["a", "$KV.b.k", "é.x-1", "A" * 20 + ".b"])
HEADERS = st.dictionaries(
    st.sampled_from(["A", "Nats-Msg-Id", "x!"]), st.sampled_from(["", "1", "a: b", "ä ö"]), max_size=3
)
MESSAGES = st.lists(st.tuples(SUBJECT, st.none() | SUBJECT, st.binary(max_size=60), HEADERS), max_size=5)


def as_server(number, subject, reply, data, headers):
    """What the server makes of a message that was published."""
    sent = commands.publish(subject, data, reply=reply, headers=headers)
    line, _, payload = sent.partition(b"\r\n")
    word, rest = line.split(b" ", 1)
    first, _, more = rest.partition(b" ")
    return b"%s %s %d %s\r\n%s" % (word.replace(b"PUB", b"MSG"), first, number, more, payload)


@given(messages=MESSAGES, cuts=st.lists(st.integers(0, 500), max_size=8))
def test_what_is_published_is_what_is_received_at_every_cut(messages, cuts):
    stream = b"".join(as_server(number, *each) for number, each in enumerate(messages))
    places = sorted({min(cut, len(stream)) for cut in (*cuts, 0, len(stream))})
    pieces = [stream[one:two] for one, two in pairwise(places)]
    received = [(each.subject, each.reply, each.data, dict(each.headers)) for each in parsed(*pieces)]
    assert received == messages


@given(
    st.lists(
        st.binary(max_size=40)
        | st.sampled_from([b"MSG ", b"a 1 3\r\n", b"INFO {", b"\r\n", b"HMSG a 1 2 3\r\n"])
    )
)
def test_any_bytes_end_in_operations_or_a_protocol_error(pieces):
    try:
        operations = parsed(*pieces)
    except ProtocolError:
        return
    assert all(isinstance(each, Message | Info | Ping | Pong | ServerError) for each in operations)


@given(st.binary(max_size=80))
def test_any_headers_are_read(block):
    fields, status, description = parse_headers(b"NATS/1.0" + block)
    assert all(isinstance(each, str) for each in (*fields, *fields.values(), description))
    assert 0 <= status <= 999


@pytest.mark.parametrize(
    "line",
    [
        b"MSG a 1\r\n", b"MSG a 1 2 3 4\r\n", b"MSG a x 1\r\n", b"MSG a 1 -1\r\n", b"MSG a 1 +1\r\n", b"MSG a 1 1_0\r\n",
        b"MSG a 1 99999999\r\n", b"MSG a 1 9999999999999999999\r\n", b"HMSG a 1 5\r\n", b"HMSG a 1 9 5\r\n", b"MSG\r\n",
        b"MSG a 1 1\r\nab\r\n", b"INFO\r\n", b"INFO []\r\n", b"INFO {\r\n", b"INFO " + b"[" * 50_000 + b"\r\n",
        b'INFO {"a": ' + b"9" * 5000 + b"}\r\n", b"HTTP/1.1 400 Bad Request\r\n", b"SSH-2.0-x\r\n", b"\r\n", b"\x00\xff\r\n",
    ],
)  # fmt: skip
def test_what_no_server_sends_is_an_error(line):
    with pytest.raises(ProtocolError):
        parsed(line)


def test_an_endless_line_is_an_error_before_it_fills_the_memory():
    parser = Parser()
    for _ in range(LONGEST_LINE // 1000):
        assert list(parser.feed(b"x" * 1000)) == []
    with pytest.raises(ProtocolError, match="longer than"):
        list(parser.feed(b"x" * 1000))
    with pytest.raises(ProtocolError, match="longer than"):
        parsed(b"INFO " + b" " * LONGEST_LINE + b"{}\r\n")


def test_what_another_client_wrote_breaks_nothing():
    """Subjects and headers are checked by no server."""
    (message,) = parsed(b"HMSG \xff\xfe 1 20 21\r\nnot headers at all\r\nx\r\n")
    assert (message.headers, message.data, message.subject) == ({}, b"x", "\udcff\udcfe")
    block = b"NATS/1.0 abc\r\nno colon\r\n: x\r\nA: 1\r\nA: 2\r\n\xff: \xfe\r\n\r\n"
    assert parse_headers(block) == ({"A": "1", "\udcff": "\udcfe"}, 0, "")


def test_headers_that_would_forge_others_are_refused():
    assert encode_headers({"a": "b"}) == b"NATS/1.0\r\na: b\r\n\r\n"
    for name, value in (("a\r\n", ""), ("a", "\n"), ("a:", ""), (" a", ""), ("", ""), ("a", "x\rb")):
        with pytest.raises(ValueError, match="not a header"):
            encode_headers({name: value})


@given(st.text(max_size=30))
def test_no_subject_forges_a_command(text):
    try:
        sent = commands.publish(text, b"data")
    except ValueError:
        return
    assert sent == b"PUB %s 4\r\ndata\r\n" % text.encode()
    assert sent.count(b"\r\n") == 2
    assert len(sent.split(b"\r\n")[0].split()) == 3
