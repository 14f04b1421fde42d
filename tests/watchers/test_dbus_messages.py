"""Messages are read as another library has written them, wherever their parts end, and written as it writes them."""

import pytest
from dbus_next import Message as Written
from dbus_next import MessageFlag

from reactor.watchers.dbus import NoBusError
from reactor.watchers.dbus.calls import call_frame
from reactor.watchers.dbus.wire import Message, frame_length

NOTHING = ("", [])
ARGUMENTS = [
    ("su", ["loaded", 3]),
    ("yoyg", [1, "/unit", 2, "as"]),
    ("a(sob)", [[["a", "/b", True], ["cc", "/d", False]]]),
    ("ya{ss}yat", [1, {"a": "b", "cc": "dd"}, 2, [2**40]]),
    ("ao", [["/a", "/bb"]]),
    ("uao", [1, ["/a", "/bb"]]),
    ("uuao", [1, 2, ["/a", "/bb"]]),
    ("aas", [[["a", "bb"], [], ["ccc"]]]),
]


def parts(member, signature, arguments):
    """What is read of a signal that the other library has written."""
    written = Written.new_signal("/unit", "org.example.Unit", member, signature, arguments)
    written.serial = 1
    frame = bytes(written._marshall())
    assert frame_length(bytearray(frame)) == len(frame)
    message = Message(frame)
    return message.is_signal, message.path, message.interface, message.member, message.body


@pytest.mark.parametrize("letters", range(1, 17))
def test_a_header_that_ends_anywhere_is_read(letters):
    member = "M" * letters
    assert parts(member, *NOTHING) == (True, "/unit", "org.example.Unit", member, [])


@pytest.mark.parametrize(("signature", "arguments"), ARGUMENTS)
def test_arguments_of_all_shapes_are_read(signature, arguments):
    assert parts("Changed", signature, arguments)[-1] == arguments


@pytest.mark.parametrize("order", ["little", "big"])
def test_a_message_has_the_longest_length_that_the_bus_allows_at_most(order):
    def header(body, fields):
        numbers = b"".join(number.to_bytes(4, order) for number in (body, 1, fields))
        return bytearray((b"l" if order == "little" else b"B") + b"\1\0\1" + numbers)

    longest = 128 << 20
    assert frame_length(header(longest - 16 - 8, 5)) == longest
    assert frame_length(header(0, 0)) == 16
    assert frame_length(header(3, 9)) == 16 + 16 + 3
    assert frame_length(header(0, 0)[:15]) == 16
    with pytest.raises(NoBusError, match="are too many"):
        frame_length(header(longest - 16 - 8 + 1, 5))


def test_the_answer_to_a_call_has_its_number_and_its_error():
    written = Written.new_method_return(
        Written(destination="a.b", path="/", interface="a.b", member="c", serial=7), "s", ["x"]
    )
    written.serial = 1
    answer = Message(bytes(written._marshall()))
    assert (answer.reply_serial, answer.body) == (7, ["x"])
    assert not answer.is_signal
    assert answer.error() is None
    call = Written(destination="a.b", path="/", interface="a.b", member="c", serial=300)
    written = Written.new_error(call, "a.b.Gone", "it is gone")
    written.serial = 2
    refusal = Message(bytes(written._marshall()))
    assert refusal.reply_serial == 300
    assert (refusal.error().name, "it is gone" in str(refusal.error())) == ("a.b.Gone", True)


CALLS = [
    ("", []),
    ("s", ["nginx.service"]),
    ("ss", ["org.example.Unit", "Größe"]),
    ("as", [["a.service", "bb.service", "ccc.service"]]),
    ("as", [[]]),
    ("asbb", [["a.service"], True, False]),
    ("sas", ["x", ["", "yy"]]),
    ("su", ["org.example.Name", 2**32 - 1]),
]


@pytest.mark.parametrize("wants_reply", [True, False])
@pytest.mark.parametrize(("signature", "arguments"), CALLS)
@pytest.mark.parametrize("letters", range(1, 9))
def test_a_call_is_written_as_by_the_other_library(letters, signature, arguments, wants_reply):
    target = ("org.example", f"/unit/{'x' * letters}", "org.example.Face", "M" * letters)
    flags = MessageFlag(0) if wants_reply else MessageFlag.NO_REPLY_EXPECTED
    written = Written(*target, flags=flags, signature=signature, body=arguments, serial=300)
    assert call_frame(300, target, signature, arguments, wants_reply=wants_reply) == bytes(
        written._marshall(False)
    )


@pytest.mark.parametrize(
    ("signature", "arguments"),
    [
        ("s", [7]),
        ("s", ["a\0b"]),
        ("s", ["\udc80"]),
        ("s", []),
        ("s", ["a", "b"]),
        ("as", [["a", 7]]),
        ("as", [None]),
        ("u", [-1]),
        ("u", [2**32]),
        ("u", ["1"]),
        ("d", [1.5]),
    ],
)
def test_arguments_that_do_not_fit_are_not_written(signature, arguments):
    with pytest.raises((TypeError, ValueError)):
        call_frame(1, ("a.b", "/", "a.b", "C"), signature, arguments, wants_reply=True)
