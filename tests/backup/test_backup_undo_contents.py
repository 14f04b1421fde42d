"""What is held for the reversal of a resource stays until that is undone, whatever the limits of backups say."""

import os
import stat
from pathlib import Path

from reactor.backup.pruning import Limits
from reactor.backup.store import Store


async def hold(store, path, ref):
    fd = os.open(path, os.O_RDONLY)
    try:
        return await store.keep_for_undo(ref, fd)
    finally:
        os.close(fd)


async def test_it_outlives_pruning_and_is_for_its_owner_only(tmp_path):
    path = tmp_path / "motd"
    path.write_bytes(b"before\0" * 1000)
    store = Store(str(tmp_path / "backups"), Limits(file=1, total=1, age=0.0))
    held = await hold(store, path, "file#/motd")
    path.write_text("after")
    store.prune()
    assert Path(held).read_bytes() == b"before\0" * 1000
    assert stat.S_IMODE((tmp_path / "backups/held").stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "backups/held").iterdir()} == {0o600}


async def test_what_no_one_needs_any_more_is_freed(tmp_path):
    path = tmp_path / "motd"
    path.write_text("x")
    store = Store(str(tmp_path / "backups"))
    one, other = [await hold(store, path, ref) for ref in ("file#/one", "file#/other")]
    (tmp_path / "backups/held/torn.new").write_text("what a killed run left")
    store.hold_only(["file#/other"])
    assert [str(each) for each in (tmp_path / "backups/held").iterdir()] == [other] != [one]


async def test_a_second_attempt_replaces_what_a_killed_one_has_left(tmp_path):
    path = tmp_path / "motd"
    store = Store(str(tmp_path / "backups"))
    path.write_text("first")
    await hold(store, path, "file#/one")
    path.write_text("second")
    held = await hold(store, path, "file#/one")
    assert Path(held).read_text() == "second"


def test_where_nothing_was_ever_held_there_is_nothing_to_free(tmp_path):
    Store(str(tmp_path / "backups")).hold_only([])
    assert not (tmp_path / "backups").exists()
