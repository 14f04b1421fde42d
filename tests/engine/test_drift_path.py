"""How many source files one drift passes, from the event to the repaired file: a reader can follow it."""

import os
import sys
from pathlib import Path

import pytest
import trio.testing
from engine_worlds import managed

import reactor
from reactor.backup.store import Store
from reactor.engine.events import Checked, Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import backup_store
from reactor.resource.watch import PathWatch
from reactor.resources.file import File
from reactor.testing.story import Story, running
from reactor.watchers import inotify

OURS = tuple(
    str(Path(name).parent)
    for name in (reactor.__file__, sys.modules[File.__module__].__file__, inotify.__file__)
)
TESTING = f"{os.sep}testing{os.sep}"
MOST_UNTIL_REPAIRED = 20
"""Source files between the event and the system call that repairs the file."""
MOST_UNTIL_REPORTED = 33
"""Source files until the check has been reported, the second look at the file and its backup included."""


class PassedFiles(list):
    """The source files of this project that one drift enters, in that order, until its check is reported."""

    def __init__(self):
        super().__init__()
        self.until_repaired = 0
        self.is_reported = False

    def note(self, frame, event, argument):
        if event == "call" and not self.is_reported:
            name = frame.f_code.co_filename
            if TESTING in name:
                is_event = frame.f_code is Story._on_event.__code__
                self.is_reported |= is_event and isinstance(frame.f_locals["event"], Checked)
            elif name.startswith(OURS) and name not in self:
                self.append(name)
        elif (
            event == "c_call"
            and argument.__name__ in ("rename", "chmod")
            and self
            and not self.until_repaired
        ):
            self.until_repaired = len(self)


def repairs(story):
    return [check for check in story.all(Checked) if check.result is Result.CHANGED]


@pytest.mark.parametrize("spoil", [lambda file: file.write_text("bad\n"), lambda file: file.chmod(0o600)])
async def test_one_drift_passes_few_source_files(in_memory, spoil):
    file = in_memory / "file"
    backup_store.set(Store(str(in_memory / "backups")))
    options = RunOptions(watch=True, audit_interval=None, diff=True)
    watchers = {PathWatch: inotify.InotifyWatcher}
    async with running(managed(file), options=options, watchers=watchers) as story:
        await story.converged()
        before = len(repairs(story))
        spoil(file)
        await story.until(lambda: len(repairs(story)) > before)
        await story.rest()
        await trio.testing.wait_all_tasks_blocked(0.05)  # the events of the repair itself are read
        await story.rest()
        before, passed = len(repairs(story)), PassedFiles()
        sys.setprofile(passed.note)
        try:
            spoil(file)
            await story.until(lambda: len(repairs(story)) > before)
        finally:
            sys.setprofile(None)
    assert file.read_text() == "good\n"
    assert file.stat().st_mode & 0o777 == 0o644
    names = "\n".join(passed)
    assert 0 < passed.until_repaired <= MOST_UNTIL_REPAIRED, names
    assert len(passed) <= MOST_UNTIL_REPORTED, names
