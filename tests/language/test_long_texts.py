"""Secrets in long texts: they are looked for beside the event loop, and once."""

from __future__ import annotations

import time

import pytest
import trio
from turns import turns

from reactor.engine.check import redact_aside
from reactor.resource.redaction import LONG, MASK, redact, register_secret
from reactor.resource.secret_search import Index, hex_spans

SECRET = "s3cr3t-of-the-house"
ESCAPES = "a%20b \\n &amp; 'x' "


@pytest.fixture
def text():
    """A megabyte that is hard to search, with the secret in its middle."""
    register_secret(SECRET)
    half = ESCAPES * (500_000 // len(ESCAPES))
    return f"{half}{SECRET}{half}"


async def test_the_loop_is_not_held_while_a_long_text_is_searched(text):
    turns, done = 0, trio.Event()

    async def count_turns():
        nonlocal turns
        while not done.is_set():
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count_turns)
        await trio.lowlevel.checkpoint()
        masked = await redact_aside(text)
        done.set()
    assert turns > 10, "others had their turn meanwhile"
    assert SECRET not in masked
    assert masked.count(MASK) == 1


async def test_a_long_text_that_was_masked_is_not_searched_again(text):
    began = time.perf_counter()
    masked = await redact_aside(text)
    took = time.perf_counter() - began
    for turn in turns(took / 10):
        with turn:
            assert redact(masked) is masked


def test_a_secret_that_is_new_is_looked_for_in_what_was_masked_before():
    register_secret(SECRET)
    text = f"{'x' * LONG} another-s3cret"
    assert redact(text) == text
    register_secret("another-s3cret")
    assert redact(text).endswith(f" {MASK}")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("73656372", ["73656372"]),
        ("<73656372>", ["73656372"]),
        ("73 65 63 72", ["73 65 63 72"]),
        ("0x73, 0x65, 0x63, 0x72", ["73, 0x65, 0x63, 0x72"]),
        ("73:65:63:72 and 73656372", ["73:65:63:72", "73656372"]),
        ("aa73656372bb", ["73656372"]),
        ("7365637", []),
        ("73 65 and 63 72", []),
        ("", []),
    ],
)
def test_hexadecimal_digits_are_found_whatever_separates_them(text, found):
    index = Index()
    index.add(["73656372"])
    assert [text[begin:end] for begin, end in hex_spans(index, text)] == found


def test_upper_case_digits_are_found_too():
    index = Index()
    index.add(["deadbeef"])
    assert list(hex_spans(index, "is DEADBEEF it")) == [(3, 11)]
