import os
import pty
import select
import signal
import tty
from contextlib import suppress

import pytest
import trio
import trio.testing

from reactor.console.writer import LIMIT, Writer


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        with suppress(OSError):
            os.close(descriptor)


async def read_all(descriptor, size):
    got = b""
    with trio.fail_after(60):
        while len(got) < size:
            await trio.lowlevel.wait_readable(descriptor)
            got += os.read(descriptor, 65536)
    return got


async def test_lines_arrive_in_order(pipe, nursery):
    writer = Writer(pipe[1])
    nursery.start_soon(writer.run)
    for number in range(1000):
        writer.write(f"line {number}\n")
    expected = "".join(f"line {number}\n" for number in range(1000)).encode()
    assert await read_all(pipe[0], len(expected)) == expected


async def test_a_reader_that_pauses_holds_nothing_up(pipe, nursery):
    writer = Writer(pipe[1])
    nursery.start_soon(writer.run)
    text = "x" * 99 + "\n"
    for _ in range(10_000):
        writer.write(text)
        await trio.lowlevel.checkpoint()
    assert not writer.idle
    assert len(await read_all(pipe[0], 1_000_000)) == 1_000_000
    with trio.fail_after(60):
        while not writer.idle:
            await trio.lowlevel.checkpoint()


async def test_a_terminal_that_pauses_holds_nothing_up(nursery):
    outside, inside = pty.openpty()
    tty.setraw(inside)
    writer = Writer(inside)
    nursery.start_soon(writer.run)
    for _ in range(1000):
        writer.write("x" * 99 + "\n")
        await trio.lowlevel.checkpoint()
    assert len(await read_all(outside, 100_000)) == 100_000
    os.close(inside)
    os.close(outside)


async def test_a_terminal_with_little_room_holds_nothing_up(nursery):
    """It polls as writable from the first free character on, and a blocking write of more would wait for the rest."""
    outside, inside = pty.openpty()
    tty.setraw(inside)
    fill(inside)
    while not select.select((), (inside,), (), 0)[1]:
        os.read(outside, 100)
    writer = Writer(inside)
    nursery.start_soon(writer.run)
    signal.setitimer(signal.ITIMER_REAL, 60)  # a test that waits in the kernel is not cancelled
    writer.write("x" * 100_000 + "\n")
    await trio.testing.wait_all_tasks_blocked()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert not writer.idle
    assert os.get_blocking(inside)
    os.close(inside)
    os.close(outside)


def fill(terminal):
    os.set_blocking(terminal, False)
    with suppress(BlockingIOError):
        while os.write(terminal, b"y" * 1000):
            pass
    os.set_blocking(terminal, True)


async def test_a_reader_that_goes_away_is_noticed_and_the_rest_is_dropped(pipe, nursery):
    writer = Writer(pipe[1])
    nursery.start_soon(writer.run)
    os.close(pipe[0])
    writer.write("nobody reads this\n")
    with trio.fail_after(60):
        await writer.broken.wait()
    writer.write("nor this\n")
    writer.flush()
    assert writer.idle


def test_flush_writes_everything_without_a_task(tmp_path):
    path = tmp_path / "out"
    with path.open("wb") as file:
        writer = Writer(file.fileno())
        writer.write("one\n")
        writer.write("hé \udcff\n")
        writer.flush()
    assert path.read_bytes() == "one\nhé \\udcff\n".encode()


async def test_more_than_the_limit_waits_for_the_reader(tmp_path):
    path = tmp_path / "out"
    with path.open("wb") as file:
        writer = Writer(file.fileno())
        for _ in range(LIMIT // 1_000_000 + 2):
            writer.write("x" * 1_000_000)
        assert path.stat().st_size > LIMIT


async def test_lines_beyond_the_limit_are_lost_and_counted_where_nobody_may_wait(pipe, nursery, monkeypatch):
    monkeypatch.setattr("reactor.console.writer.LIMIT", 1000)
    writer = Writer(pipe[1], lost_line="{} are lost\n".format)
    for number in range(500):
        writer.write(f"{number:<9}\n")
    nursery.start_soon(writer.run)
    kept = 101
    got = await read_all(pipe[0], kept * 10 + len("399 are lost\n"))
    lines = got.decode().splitlines()
    assert [line.strip() for line in lines[:-1]] == [str(number) for number in range(kept)]
    assert lines[-1] == "399 are lost"
    writer.write("later\n")
    assert await read_all(pipe[0], 6) == b"later\n"


async def test_a_full_disk_is_reported_once_and_ends_nothing(nursery):
    descriptor = os.open("/dev/full", os.O_WRONLY)
    complaints = []
    writer = Writer(descriptor, complaints.append)
    for _ in range(2):
        writer.write("lost\n")
        writer.flush()
    os.close(descriptor)
    assert complaints == ["output is lost: No space left on device"]
    assert not writer.broken.is_set()


async def test_a_descriptor_another_process_made_non_blocking_loses_nothing(pipe, nursery):
    os.set_blocking(pipe[1], False)
    writer = Writer(pipe[1])
    nursery.start_soon(writer.run)
    for _ in range(10_000):
        writer.write("x" * 99 + "\n")
    assert len(await read_all(pipe[0], 1_000_000)) == 1_000_000


async def test_the_prefix_goes_before_each_batch(pipe, nursery):
    writer = Writer(pipe[1])
    writer.prefix = b"\r"
    nursery.start_soon(writer.run)
    writer.write("a\n")
    writer.write("b\n")
    assert await read_all(pipe[0], 5) == b"\ra\nb\n"


async def test_what_is_in_a_hurry_is_written_at_once_as_far_as_the_reader_takes_it(pipe, nursery):
    writer = Writer(pipe[1])
    writer.write("first\n")
    writer.hurry()
    assert os.read(pipe[0], 100) == b"first\n"
    writer.write("x" * 1_000_000)
    writer.hurry()
    assert not writer.idle
    nursery.start_soon(writer.run)
    assert len(await read_all(pipe[0], 1_000_000)) == 1_000_000
