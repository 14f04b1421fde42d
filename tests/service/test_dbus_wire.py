"""Messages as they come from the bus, written by the library and read by us."""

from __future__ import annotations

import struct

import pytest
from dbus_fast import Message as Written
from dbus_fast import MessageType, Variant
from hypothesis import given
from hypothesis import strategies as st

from reactor.watchers.dbus import NoBusError
from reactor.watchers.dbus.wire import Message, complete_types, frame_length

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
NUMBERS = {
    "y": st.integers(0, 2**8 - 1),
    "b": st.booleans(),
    "n": st.integers(-(2**15), 2**15 - 1),
    "q": st.integers(0, 2**16 - 1),
    "i": st.integers(-(2**31), 2**31 - 1),
    "u": st.integers(0, 2**32 - 1),
    "x": st.integers(-(2**63), 2**63 - 1),
    "t": st.integers(0, 2**64 - 1),
    "d": st.floats(allow_nan=False),
}
BASIC = {**NUMBERS, "s": TEXT, "o": st.just("/a/b"), "g": st.just("a{sv}")}


@st.composite
def arguments(draw, depth=2):
    """A type, a value of it as the library takes it, and as we give it."""
    kind = draw(st.sampled_from([*BASIC, *"a({v"] if depth else [*BASIC]))
    if kind in BASIC:
        value = draw(BASIC[kind])
        return kind, value, value
    if kind == "v":
        inner, written, read = draw(arguments(depth - 1))
        return kind, Variant(inner, written), read
    parts = draw(st.lists(arguments(depth - 1), min_size=1, max_size=3))
    if kind == "(":
        return f"({''.join(part[0] for part in parts)})", [p[1] for p in parts], [p[2] for p in parts]
    inner, written, read = parts[0]
    if kind == "a":
        times = draw(st.integers(0, 3))
        return (
            f"a{inner}",
            b"\0" * times if inner == "y" else [written] * times,
            [0 if inner == "y" else read] * times,
        )
    return f"a{{s{inner}}}", {"key": written}, {"key": read}


def signal(signature="", body=()):
    written = Written(
        message_type=MessageType.SIGNAL, path="/unit/a", interface="org.example.I", member="Changed",
        signature=signature, body=list(body), serial=7,
    )  # fmt: skip
    return bytes(written._marshall(False))


@given(st.lists(arguments(), max_size=4))
def test_whatever_is_written_is_read(parts):
    frame = signal("".join(part[0] for part in parts), [part[1] for part in parts])
    assert frame_length(bytearray(frame)) == len(frame)
    message = Message(frame)
    assert (message.is_signal, message.path, message.interface, message.member) == (
        True, "/unit/a", "org.example.I", "Changed",
    )  # fmt: skip
    assert message.body == [part[2] for part in parts]


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_are_read(order):
    fields = struct.pack(f"{order}BB2sI", 5, 1, b"u\0", 258) + struct.pack(
        f"{order}BB2sBBx", 8, 1, b"g\0", 1, ord("t")
    )
    header = struct.pack(f"{order}BBBBIII", ord("l" if order == "<" else "B"), 2, 0, 1, 8, 9, len(fields))
    frame = header + fields + b"\0" * (-len(header + fields) % 8) + struct.pack(f"{order}Q", 2**40)
    message = Message(frame)
    assert (frame_length(bytearray(frame)), message.reply_serial, message.body) == (len(frame), 258, [2**40])
    assert not message.is_signal


@pytest.mark.parametrize(
    ("signature", "types"),
    [
        ("", ()),
        ("sa{sv}as", ("s", "a{sv}", "as")),
        ("a(ssssssouso)", ("a(ssssssouso)",)),
        ("aas(i(u))v", ("aas", "(i(u))", "v")),
    ],
)
def test_a_signature_is_taken_apart(signature, types):
    assert complete_types(signature) == types


@pytest.mark.parametrize(
    "frame",
    [
        b"\0" * 16,
        b"l\4\0\1" + b"\0" * 8 + b"\7\0\0\0" + b"\1\1o\0\xff",
        b"l\4\0\1" + b"\0" * 8 + b"\12\0\0\0" + b"\1\1o\0\2\0\0\0\xff\xff\0\0\0\0\0\0",
    ],
    ids=["no byte order", "cut off", "no UTF-8"],
)
def test_what_is_no_message_is_the_end_of_the_connection(frame):
    with pytest.raises(NoBusError, match="not a D-Bus message"):
        Message(frame)


def test_a_length_that_no_message_has_is_not_waited_for():
    with pytest.raises(NoBusError, match="too many"):
        frame_length(bytearray(b"l\4\0\1\xff\xff\xff\xff" + b"\0" * 8))
