"""A disk of this host that hangs when it is read holds up nothing but what is on it."""

import os
import threading

import pytest
from hanging import hanging_disk
from mounts_worlds import a_change_elsewhere, a_file
from served import GUARD

from reactor import hostfs
from reactor.engine.events import Result
from reactor.resource.backup_store import backup_store
from reactor.testing.story import running


@pytest.fixture
def hanging(tmp_path):
    """A disk that the test can let hang. What hangs the loop would hang the test for ever: it answers before that."""
    with hanging_disk(tmp_path) as disk:
        timer = threading.Timer(GUARD, disk.answer)
        timer.start()
        yield disk
        assert timer.is_alive(), "something waited for the disk"
        timer.cancel()


@pytest.mark.usefixtures("short_disk_timeout")
async def test_what_has_to_be_read_from_the_disk_fails_and_names_it_until_it_answers(
    hanging, tmp_path, in_memory
):
    source = tmp_path / "source"
    source.write_text("old" * 1000)
    below = [a_file(hanging.point / f"f{i}", content=None, source=str(source)) for i in range(3)]
    async with running(*below, a_file(in_memory / "local")) as story:
        await story.converged()
        hanging.forget()
        hanging.hang()
        source.write_text("new" * 1000)
        await a_change_elsewhere(story, in_memory / "local")
        await story.until(lambda: all(story.result(each.ref) is Result.FAILED for each in below))
        assert story.checks(below[0].ref)[-1].error == f"ext4 at {hanging.point} does not answer"
        await a_change_elsewhere(story, in_memory / "local")
        hanging.answer()
        await story.until(lambda: all(story.result(each.ref) is not Result.FAILED for each in below))
        assert {(hanging.point / f"f{i}").read_text() for i in range(3)} == {"new" * 1000}


@pytest.mark.usefixtures("short_disk_timeout")
async def test_a_source_on_the_disk_is_its_failure_and_not_that_of_the_disk_it_is_copied_to(
    hanging, tmp_path, in_memory
):
    source, target, other = hanging.point / "source", tmp_path / "target", tmp_path / "other"
    source.write_text("source" * 1000)
    copied, beside = a_file(target, content=None, source=str(source)), a_file(other)
    async with running(copied, beside, a_file(in_memory / "local")) as story:
        await story.converged()
        hanging.forget()
        hanging.hang()
        target.write_text("drifted")
        await a_change_elsewhere(story, in_memory / "local")
        await story.until(lambda: story.result(copied.ref) is Result.FAILED)
        assert story.checks(copied.ref)[-1].error == f"ext4 at {hanging.point} does not answer"
        other.write_text("drifted")
        await story.until(lambda: other.read_text() == "x" and story.result(beside.ref) is Result.CHANGED)
        hanging.answer()
        await story.until(lambda: target.read_text() == "source" * 1000)


async def test_what_was_replaced_is_in_memory_before_it_is_kept(hanging, monkeypatch):
    """The event loop keeps it: it would wait for a disk that hangs then."""
    path, fsync, kept = hanging.point / "f", os.fsync, []
    path.write_text("old" * 1000)

    class Box:
        async def keep(self, _path, _ref, fd):
            kept.append(os.preadv(fd, [bytearray(3000)], 0, os.RWF_NOWAIT))

    def hang_then(fd):
        fsync(fd)
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            hanging.hang()

    hanging.forget()
    monkeypatch.setattr(os, "fsync", hang_then)
    token = backup_store.set(Box())
    attributes = hostfs.Attributes(os.getuid(), os.getgid(), 0o644)
    await hostfs.write_file(str(path), hostfs.Inline("new"), attributes)
    backup_store.reset(token)
    assert kept == [3000]
