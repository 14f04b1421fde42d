"""What ``status`` says of a run that has ended, from its journal."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import trio

from reactor.console.status_lines import status_text
from reactor.console.style import Style
from reactor.control.last_run import last_status
from reactor.control.pause_file import PauseFile
from reactor.control.protocol import StatusQuery
from reactor.control.refused_run import read_refused_run
from reactor.control.status_table import EngineStatus, ResourceStatus, record_of
from reactor.engine.events import Ended, Result
from reactor.journal.history import History
from reactor.journal.journal import Journal
from reactor.resources.exec import Exec


def test_a_refresh_that_a_killed_run_left_pending_is_shown_until_its_resource_leaves(tmp_path: Path):
    restart = Exec(name="restart", command="true", refreshonly=True)
    with closing(Journal.open(str(tmp_path), "site.yaml", sys.stderr.write)) as journal:
        journal.prepare_generation({restart.ref: restart})()
        trio.run(journal.intend, "file#/etc/app.conf", [restart.ref])
    left = status_of(tmp_path)
    active = record_of(ResourceStatus(restart.ref, 0.0), EngineStatus("enforce", False, None))
    assert [record.keys() for record in left["resources"]] == [active.keys()]
    assert [(record["state"], record["pending"]) for record in left["resources"]] == [
        ("unknown", ["refresh"])
    ]
    assert "exec#restart  unknown  not checked yet\n    a refresh is pending\n" in status_text(
        left, Style(False), time.time()
    )
    with closing(Journal.open(str(tmp_path), "site.yaml", sys.stderr.write)) as journal:
        journal.prepare_generation({})()
    assert status_of(tmp_path)["resources"] == []


def test_it_is_said_that_what_was_skipped_was_not_looked_at(tmp_path: Path):
    counts = {str(result): 0 for result in Result} | {"ok": 1, "skipped": 2}
    with closing(Journal.open(str(tmp_path), "site.yaml", sys.stderr.write)) as journal:
        journal.record(Ended(time.time(), counts, 0, 0.1, "nothing is left to do", 0))
    left = status_of(tmp_path)
    assert left["ended"]["skipped"] == 2
    first = status_text(left, Style(False), time.time()).splitlines()[0]
    assert first.endswith(" (nothing is left to do); 2 skipped, and shown as before it")


def status_of(directory: Path):
    with closing(History(str(directory))) as history:
        return last_status(PauseFile(str(directory), sys.stderr.write), history, StatusQuery())


@pytest.mark.parametrize(
    "content",
    ["", "garbage", "[]", '{"time": 1e99, "manifest": "m", "problems": []}', '{"time": 1, "problems": 1}'],
)
def test_a_damaged_note_of_a_refused_run_is_none(tmp_path, content):
    (tmp_path / "refused.json").write_text(content)
    assert read_refused_run(str(tmp_path)) is None
