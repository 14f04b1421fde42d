"""Makes hostile answers of HTTP servers at random: broken, cut, encoded, endless for a moment, and lies of every kind."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable

MOST_AT_ONCE = 4
STATUSES = [
    "200 OK",
    "204 No Content",
    "206 Partial",
    "301 Moved",
    "302 Found",
    "304 Not Modified",
    "404 No",
    "500 Oops",
]
LINES = [
    b"Content-Encoding: gzip", b"Content-Encoding: zstd, gzip", b"Content-Encoding: \xff", b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked", b"Content-Length: -1", b"Content-Length: 99999999999999999999",
    b"Content-Length: 3, 3", b"Content-Length: 1\r\nContent-Length: 2", b"Location: /again", b"Location: http://[::1",
    b"Location: file:///etc/shadow", b"Location: //\xff\x00/", b"Location: http://127.0.0.1:1/", b"Location: http://\xc3\xa9..x/",
    b"Content-Range: bytes 0-0/1", b"Content-Range: bytes 99999999999999999999-1/*", b'ETag: "\x01"', b'ETag: W/"x"',
    b"Last-Modified: never", b"Set-Cookie: " + b"a=b;" * 500, b"a" * 9000 + b": b", b": no name", b" folded", b"x",
    b"Connection: upgrade", b"Upgrade: h2c", b"Content-Type: text/html; charset=utf-7", b"WWW-Authenticate: Basic",
    b"Trailer: x", b"Date: \xf0\x9f\x92\xa9", b"Keep-Alive: timeout=-1", b"\x00: \x00",
]  # fmt: skip
BODIES = [
    b"", b"data: {name: x}", b"data: [", b"<html>", b"\xff\xfe", b"null", b"- " * 2000, b"[" * 3000, b"{" * 3000,
    b"&a [*a]", b"a: &a [x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]", b"resources: []", b"\0" * 3000, b"x" * 70_000,
    gzip.compress(bytes(1 << 20)), zlib.compress(bytes(1 << 20)), b"PK\x05\x06" + bytes(18), b"\x28\xb5\x2f\xfd" + bytes(30),
]  # fmt: skip
FLOODS = [
    b"a: b\r\n" * 20_000,
    b"HTTP/1.1 100 C\r\n\r\n" * 5000,
    b"1\r\nx\r\n" * 20_000,
    b"\r\n" * 40_000,
    b"x" * 2_000_000,
]

Mutation = Callable[[bytes, random.Random], bytes]


def good(rng: random.Random) -> bytes:
    """An answer that a server could give."""
    body, status = rng.choice(BODIES), rng.choice(STATUSES)
    lines = [b"HTTP/1.%d %s" % (rng.randrange(2), status.encode())]
    if rng.random() < 0.3:
        size = rng.randint(1, 500)
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        lines.append(b"Transfer-Encoding: chunked")
    elif rng.random() < 0.8:
        lines.append(b"Content-Length: %d" % len(body))
    if status.startswith("30"):
        lines.append(b"Location: /again")
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _line(data: bytes, rng: random.Random) -> bytes:
    head, gap, body = data.partition(b"\r\n")
    return head + gap + rng.choice(LINES) + b"\r\n" + body


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _byte(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randint(1, 4)) + data[at + rng.randrange(3) :]


def _head_byte(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(min(len(data), 60) + 1)
    return data[:at] + rng.randbytes(1) + data[at + 1 :]


def _flood(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.9:  # they take their time
        return data
    head, gap, body = data.partition(rng.choice([b"\r\n", b"\r\n\r\n"]))
    return head + gap + rng.choice(FLOODS) + body


def _rubbish(_data: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(0, 300))


def _again(data: bytes, rng: random.Random) -> bytes:
    return data + good(rng)


MUTATIONS: tuple[Mutation, ...] = (_line, _line, _line, _cut, _byte, _head_byte, _flood, _rubbish, _again)


def hostile(rng: random.Random) -> bytes:
    """A whole answer, after one to four random changes. It may still be a good one."""
    data = good(rng)
    for _ in range(rng.randint(1, MOST_AT_ONCE)):
        data = rng.choice(MUTATIONS)(data, rng)
    return data
