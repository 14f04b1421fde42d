"""Servers that mean no good: what they make of an answer costs little memory and time, and ends in an error that says why."""

import gzip
import tracemalloc

import pytest
import trio
import zstandard
from health_worlds import look
from raw_server import RawServer, answer, dripping, flooding

from reactor.resource.diagnostic import ManifestError
from reactor.source import download
from reactor.source.cache import fetched, fetched_data

GUARD = 60
"""Seconds: it only ends what hangs."""
MOST_MEMORY = 24 << 20
"""Bytes that an answer may cost: the largest body a health check takes, some times over."""
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def bomb(encoding):
    """A few kilobytes that decode to hundreds of megabytes."""
    if encoding == "zstd":
        compressor = zstandard.ZstdCompressor(level=19).compressobj()
        return b"".join(compressor.compress(bytes(1 << 20)) for _ in range(512)) + compressor.flush()
    once = gzip.compress(bytes(64 << 20))
    return gzip.compress(once) if encoding == "gzip, gzip" else once


async def inspected_paths(url, **expected):
    """What a health check finds there, and the most memory that it took."""
    await look({"http": {"http://127.0.0.1:1/": {}}})  # what is imported then counts for nothing
    tracemalloc.start()
    try:
        found = await look({"http": {url: {"timeout": GUARD * 1000, **expected}}})
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["zstd", "gzip", "gzip, gzip", "deflate", "br"])
async def test_a_compressed_answer_is_refused_and_never_decoded(encoding):
    with RawServer(answer(bomb(encoding), Content_Encoding=encoding)) as server:
        (status, lines), peak = await inspected_paths(server.url, body=["x"])
    assert status == "critical"
    assert f"has a Content-Encoding that was not asked for: '{encoding}'" in lines[0]
    assert peak < MOST_MEMORY
    assert b"\r\naccept-encoding: identity\r\n" in server.asked[0].lower()


async def test_a_compressed_answer_is_no_problem_where_the_body_does_not_matter():
    with RawServer(answer(bomb("gzip"), Content_Encoding="gzip")) as server:
        found, peak = await inspected_paths(server.url, headers=["Content-Encoding: gzip"])
    assert found == ("ok", ["1 rule holds"])
    assert peak < MOST_MEMORY


FLOODS = {
    "a header that never ends": (
        flooding(b"HTTP/1.1 200 OK\r\n", b"a:b\r\n" * 5000),
        "the header of the answer",
    ),
    "a line that never ends": (flooding(b"HTTP/1.1 200 OK\r\na: ", b"b" * 20000), "the header of the answer"),
    "interim answers for ever": (
        flooding(b"", b"HTTP/1.1 100 C\r\n\r\n" * 2000),
        "more than 20 answers to one request",
    ),
    "a body that never ends": (flooding(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536), "is larger than 1 MiB"),
    "chunks of one byte": (flooding(CHUNKED, b"1\r\nx\r\n" * 5000), "more bytes around its content"),
    "chunks with extensions": (
        flooding(CHUNKED, b"1;" + b"a" * 9000 + b"\r\nx\r\n"),
        "more bytes around its content",
    ),
    "trailers for ever": (
        flooding(CHUNKED + b"1\r\nx\r\n0\r\n", b"a:b\r\n" * 5000),
        "more bytes around its content",
    ),
}


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_of_bytes_ends_in_an_error(name):
    behave, message = FLOODS[name]
    with RawServer(behave) as server:
        (status, lines), peak = await inspected_paths(server.url, body=["x"])
    assert status == "critical"
    assert message in lines[0]
    assert peak < MOST_MEMORY


SLOW = {
    "silence": dripping(b"", b"", 9),
    "a header": dripping(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", 0.02),
    "a body": dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.02),
    "interim answers": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05),
    "redirects": lambda connection, over: (
        over.wait(0.06),
        connection.sendall(answer(status="302 Found", Location="/again")),
    ),
}


@pytest.mark.parametrize("name", SLOW)
async def test_a_server_that_takes_its_time_gets_no_more_than_the_timeout(name):
    with RawServer(SLOW[name]) as server:
        with trio.fail_after(GUARD):
            found = await look({"http": {server.url: {"timeout": 300, "body": ["x"]}}})
    assert found == ("critical", [f"http {server.url}: no answer within 300 ms"])


async def test_redirects_are_counted():
    with RawServer(answer(status="302 Found", Location="/again")) as server:
        found = await look({"http": {server.url: {}}})
    assert found == ("critical", [f"http {server.url}: the server redirects more than 20 times"])
    assert len(server.asked) == 21


async def test_what_is_meant_for_one_server_is_not_reported_to_another():
    with RawServer(answer(b"x")) as other, RawServer(answer(status="302 Found", Location=other.url)) as first:
        rule = {"request-headers": ["X-Token: s3cret"], "username": "ann", "password": "b0b"}
        assert await look({"http": {first.url: rule}}) == ("ok", ["1 rule holds"])
    assert b"s3cret" in first.asked[0]
    assert b"Authorization: Basic" in first.asked[0]
    assert b"s3cret" not in other.asked[0]
    assert b"authorization" not in other.asked[0].lower()


MANIFESTS = {
    "compressed": "Content-Encoding that was not asked for",
    "endless": "is larger than 1 MiB",
    "an endless header": "the header of the answer",
    "no HTTP": "failed: ",
}


def hostile_data(name):
    match name:
        case "compressed":
            return answer(bomb("gzip"), Content_Encoding="gzip")
        case "endless":
            return flooding(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536)
        case "an endless header":
            return flooding(b"HTTP/1.1 200 OK\r\n", b"a:b\r\n" * 5000)
    return b"\0" * 70_000


@pytest.mark.parametrize(("name", "message"), MANIFESTS.items())
def test_hostile_data_are_refused_and_never_decoded(name, message, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MAX_BYTES", 1 << 20)
    with RawServer(hostile_data(name)) as server:
        tracemalloc.start()
        try:
            with pytest.raises(ManifestError, match=message):
                fetched_data(f"{server.url}/site.yaml", str(tmp_path), lambda _: None, lambda _: None)
            assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
        finally:
            tracemalloc.stop()


def test_a_packed_manifest_is_taken_as_it_is_whatever_the_server_calls_its_packing(tmp_path):
    """Many servers take ``.gz`` for an encoding; what is unpacked afterwards is bounded there."""
    with RawServer(answer(bomb("gzip"), Content_Encoding="gzip")) as server:
        tracemalloc.start()
        try:
            with pytest.raises(ManifestError, match="not found in archive"):
                fetched(f"{server.url}/site.tar.gz", str(tmp_path), lambda _: None)
            assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
        finally:
            tracemalloc.stop()
