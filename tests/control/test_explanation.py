"""What ``why`` says of a resource whose journal tells less, or more, than that all is well."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

import trio

from reactor.control.explanation import Explanation
from reactor.engine.events import Cause, Checked, Flapping, Result
from reactor.journal.history import History
from reactor.journal.journal import Journal

SOURCE, SUBSCRIBER = "file#/etc/app.conf", "exec#restart app"


def journal_in(directory):
    return closing(Journal.open(str(directory), "site.yaml", sys.stderr.write))


def explained(directory, ref):
    with closing(History(str(directory))) as history:
        return Explanation(history, time.time()).explain(ref)


def test_what_no_check_has_a_result_of_is_not_said_to_be_as_desired(tmp_path: Path):
    with journal_in(tmp_path) as journal:
        trio.run(journal.intend, SOURCE, [SUBSCRIBER])
    first, second = explained(tmp_path, SUBSCRIBER)
    assert first == f"{SUBSCRIBER} has no known state: no run has recorded the result of a check of it."
    assert second.startswith(f"A refresh of it because of {SOURCE} has been pending since ")
    assert "no run has recorded" in explained(tmp_path, SOURCE)[0]


def test_a_failure_after_a_change_is_told_with_the_change(tmp_path: Path):
    with journal_in(tmp_path) as journal:
        journal.record(
            Checked(
                time.time(),
                SOURCE,
                Result.FAILED,
                Cause.DRIFT,
                0.1,
                ("updated the content",),
                error="unhealthy",
            )
        )
    assert "  Before it failed, it was changed: updated the content." in explained(tmp_path, SOURCE)


def test_flapping_is_told_with_its_cause(tmp_path: Path):
    with journal_in(tmp_path) as journal:
        journal.record(
            Checked(time.time(), SOURCE, Result.CHANGED, Cause.DRIFT, 0.1, ("updated the content",))
        )
        journal.record(Flapping(time.time(), SOURCE, {"updated the content": 50}))
    (told,) = (line for line in explained(tmp_path, SOURCE) if "flap" in line)
    assert told.startswith("It began to flap ")
    assert told.endswith(": something else changes it back. By then: updated the content 50 times.")


def test_what_a_clock_that_was_set_back_dates_in_the_future_has_no_age(tmp_path: Path):
    later = time.time() + 86400
    with journal_in(tmp_path) as journal:
        journal.record(Checked(later, SOURCE, Result.CHANGED, Cause.DRIFT, 0.1, ("updated the content",)))
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(later))
    assert explained(tmp_path, SOURCE)[0] == (
        f"{SOURCE} was changed at {date} (the clock was set back since): updated the content."
    )
