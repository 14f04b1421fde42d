"""What is found in a table of the kernel, and what that costs."""

import random

from reactor.resources.network.frame_table import FrameTable
from reactor.watchers.netlink_socket import Frame


def framed(*bodies):
    return [Frame(24, 0, 0, body) for body in bodies]


def test_a_piece_is_found_within_a_body_and_not_across_two():
    table = FrameTable(frames := framed(b"..ab", b"", b"cd..", b"abcd", b"xabcdabcd"))
    assert table.holding(b"abcd") == frames[3:]
    assert table.holding(b"ab") == [frames[0], *frames[3:]]
    assert table.holding(b"") == frames
    assert table.holding(b"nothing") == []
    assert FrameTable([]).holding(b"x") == []


def test_all_that_hold_a_piece_are_found_in_their_order():
    chance = random.Random(1)
    frames = framed(*(bytes(chance.choices(b"abc", k=chance.randrange(6))) for _ in range(300)))
    table = FrameTable(frames)
    for piece in (bytes(chance.choices(b"abc", k=chance.randrange(1, 5))) for _ in range(100)):
        assert table.holding(piece) == [frame for frame in frames if piece in frame.body], piece
