"""What messages of the kernel are about: those of devices and those of nftables."""

import pytest

from reactor.watchers.netlink_socket import Frame, attributes, pack, pack_attribute, unpack
from reactor.watchers.nftables import GENERATION, NftablesWatch, table_of
from reactor.watchers.uevents import device_of


def announced(**fields):
    lines = [f"{name}={value}".encode() for name, value in fields.items()]
    return b"\0".join([b"change@/devices/virtual/x", *lines, b""])


@pytest.mark.parametrize(
    ("message", "device"),
    [
        (announced(SUBSYSTEM="block", DEVNAME="loop7"), "/dev/loop7"),
        (announced(SUBSYSTEM="block", DEVNAME="mapper/a=b"), "/dev/mapper/a=b"),
        (announced(SUBSYSTEM="bdi", DEVNAME="loop7"), None),
        (announced(SUBSYSTEM="net", DEVNAME="loop7"), None),
        (announced(SUBSYSTEM="block"), None),
        (b"libudev\0\xfe\xed", None),
    ],
)
def test_only_block_devices_are_named_and_by_their_path(message, device):
    assert device_of(message) == device


def change(subsystem, kind, *attributes, family=2):
    body = GENERATION.pack(family, 0, 0) + b"".join(pack_attribute(*each) for each in attributes)
    return Frame(subsystem << 8 | kind, 0, 0, body)


TABLE = (1, b"filter\0")


@pytest.mark.parametrize(
    ("frame", "table"),
    [
        (change(10, 0, TABLE), NftablesWatch(2, "filter")),
        (change(10, 6, (2, b"other\0"), TABLE, family=10), NftablesWatch(10, "filter")),
        (change(10, 6, (2, b"other\0")), None),
        (change(10, 15, TABLE), None),
        (change(9, 0, TABLE), None),
        (change(11, 0, TABLE), None),
        (change(0, 10, TABLE), None),
    ],
    ids=["a table", "a rule", "nameless", "a generation", "below", "above", "another subsystem"],
)
def test_a_message_of_nftables_is_about_the_table_that_it_names(frame, table):
    assert table_of(frame) == table


@pytest.mark.parametrize("length", range(9))
def test_frames_and_attributes_of_any_length_are_read_as_they_were_written(length):
    values = [(1, bytes(range(length))), (7, b"after")]
    body = b"".join(pack_attribute(*each) for each in values)
    assert len(body) % 4 == 0
    frames = [Frame(20, 3, 9, b"head" + body), Frame(3, 2, 9, b"")]
    assert list(unpack(b"".join(map(pack, frames)))) == frames
    assert list(attributes(frames[0].body, 4)) == values


def test_a_nested_attribute_has_the_type_without_its_flag():
    assert list(attributes(pack_attribute(0x8000 | 5, b"abcd"), 0)) == [(5, b"abcd")]


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_length_of_nothing_ends(length):
    assert len(list(attributes(length.to_bytes(2, "little") + b"\1\0" * 3, 0))) <= 2
    assert len(list(unpack(length.to_bytes(4, "little") + bytes(28)))) <= 2
