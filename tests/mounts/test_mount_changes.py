"""Word of every change of the mount table."""

import pytest
import trio
from served import GUARD, served

from reactor import follow_mounts, read_mounts


async def test_every_change_is_looked_at_and_the_table_as_it_is_at_the_start(tmp_path):
    point, seen = str(tmp_path / "point"), []

    def look():
        seen.append(any(mount.point == point for mount in read_mounts()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow_mounts, look)
        with trio.fail_after(GUARD):
            while not seen:
                await trio.lowlevel.checkpoint()
            with served(tmp_path / "point", tmp_path / "source"):
                while not seen[-1]:
                    await trio.lowlevel.checkpoint()
            while seen[-1]:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()


async def test_a_look_that_fails_ends_it_for_whoever_follows():
    def look():
        raise OSError(24, "Too many open files")

    with pytest.raises(ExceptionGroup) as raised, trio.fail_after(GUARD):
        await follow_mounts(look)
    assert raised.group_contains(OSError, match="Too many open files")
