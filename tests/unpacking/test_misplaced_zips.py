"""Zip archives whose offsets lead to where nothing of them can be: the archive is blamed, never the disk."""

import random
import struct
from contextlib import suppress

import pytest
from hostile_archives import zipped

from reactor import UnpackingError, UnpackingLimits, unpack

GOOD = zipped(("a", 0o644, "first"), ("b", 0o644, "second"))
DIRECTORY = GOOD.index(b"PK\1\2")
SECOND_ENTRY = GOOD.index(b"PK\1\2", DIRECTORY + 4)
END = GOOD.index(b"PK\5\6")


def patched(at, value, form="<L"):
    return GOOD[:at] + struct.pack(form, value) + GOOD[at + struct.calcsize(form) :]


MISPLACED = {
    "a directory before the beginning": patched(END + 12, END + 1),
    "a directory far behind the end": patched(END + 16, 0xFFFFFFF0),
    "an entry far behind the end": patched(DIRECTORY + 42, 0xFFFFFFF0),
    "an entry within the directory": patched(SECOND_ENTRY + 42, DIRECTORY),
    "two entries at the same place": patched(SECOND_ENTRY + 42, 0),
    "an entry that runs into the next": patched(DIRECTORY + 20, 200),
    "an end that begins too early": GOOD[DIRECTORY:],
}


@pytest.mark.parametrize("name", MISPLACED)
def test_an_archive_that_points_to_nowhere_is_blamed_and_not_the_disk(tmp_path, name):
    (tmp_path / "archive").write_bytes(MISPLACED[name])
    (tmp_path / "in").mkdir()
    with pytest.raises(UnpackingError, match="not a usable zip archive: "):
        unpack(str(tmp_path / "archive"), str(tmp_path / "in"), "zip", limits=UnpackingLimits())


def test_no_zip_with_other_offsets_blames_the_disk(tmp_path):
    chance = random.Random(18)
    fields = [
        *(at + offset for at in (DIRECTORY, SECOND_ENTRY) for offset in (20, 24, 28, 30, 32, 42)),
        *(END + offset for offset in (8, 10, 12, 16, 20)),
    ]
    for number in range(2000):
        data = bytearray(GOOD)
        for at in chance.sample(fields, chance.randint(1, 3)):
            data[at : at + 4] = struct.pack("<L", chance.choice([0, 1, chance.randrange(2**32), 2**32 - 2]))
        (tmp_path / "archive").write_bytes(data)
        into = tmp_path / str(number)
        into.mkdir()
        with suppress(UnpackingError):
            unpack(str(tmp_path / "archive"), str(into), "zip", limits=UnpackingLimits())
