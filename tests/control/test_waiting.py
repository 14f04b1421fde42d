"""What `status` and `why` say of a resource that waits for a slot."""

import time

from reactor.console.status_lines import status_text
from reactor.console.style import Style
from reactor.console.text import TextSink
from reactor.control.explanation import Explanation
from reactor.control.status_table import EngineStatus, RunFacts, StatusTable, record_of
from reactor.engine.events import CAUSE_SETS, Cause, Checked, Ended, Result, SlotWaited
from reactor.journal.history import History
from reactor.journal.journal import Journal

REF = "service#app"


def waited(at, reason="held by web3, web7"):
    return SlotWaited(at, REF, "app-restart", reason)


def checked(at, result=Result.CHANGED):
    return Checked(at, REF, result, CAUSE_SETS[Cause.DRIFT], 0.1, ("restarted",))


def test_the_status_names_the_slot_and_its_holders():
    now = time.time()
    table = StatusTable(RunFacts("/site.yaml", 1, now, noop=False), [REF])
    table(waited(now))
    status = table.resource_statuses[REF]
    record = record_of(status, EngineStatus("enforce", True, None))
    assert record["state"] == "waiting"
    assert record["waiting_for"] == {"slot": "app-restart", "reason": "held by web3, web7"}
    answer = {"run": None, "ended": None, "watchers": [], "counts": {"waiting": 1}, "resources": [record]}
    text = status_text(answer, Style(False), now)
    assert f"{REF}  waiting\n    waiting for slot app-restart (held by web3, web7)\n" in text
    table(checked(now))
    assert record_of(status, EngineStatus("enforce", False, None))["waiting_for"] is None


def test_a_hostile_holder_writes_no_control_characters():
    lines = []
    TextSink(lines.append, Style(False), continuous=True)(waited(1.0, "held by \x1b[2J"))
    assert lines == [f"{REF}  waiting  for slot app-restart (held by \\x1b[2J)\n"]


def test_why_tells_a_wait_until_a_check_or_the_end(tmp_path):
    now = time.time()
    events = [waited(now), checked(now), waited(now), Ended(now, {}, 0, 1.0, "stopped")]
    told = []
    for event in events:
        journal = Journal.open(str(tmp_path), "/site.yaml", lambda _: None)
        journal.record(event)
        journal.close()
        history = History(str(tmp_path))
        lines = Explanation(history, now).explain(REF)
        history.close()
        told.append(any("waiting for slot app-restart (held by web3, web7)" in line for line in lines))
    assert told == [True, False, True, False]
