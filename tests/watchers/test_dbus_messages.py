"""Messages are read as another library has written them, wherever their parts end."""

import pytest
from dbus_next import Message as Written

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
