"""The decisions of exec, as a table: no host, no process."""

import itertools

import pytest

from reactor.resources.exec import Exec, ExecState

NO_GUARD = {}
CREATES = {"creates": "/x"}
ONLYIF = {"onlyif": "true"}
UNLESS = {"unless": "true"}
ALL = CREATES | ONLYIF | UNLESS
REFRESHONLY = {"refreshonly": True}
POLL = {"meta": {"poll": "60s"}}

RUN = [("Would have executed", "executed")]
VIA_SUBSCRIBE = [("Would have executed via subscribe", "executed via subscribe")]
NOTHING = []

TABLE = [
    ("without a guard it runs", NO_GUARD, ExecState(), False, RUN),
    ("without a guard it runs once", NO_GUARD, ExecState(ran=True), False, NOTHING),
    ("and again on a refresh", NO_GUARD, ExecState(ran=True), True, VIA_SUBSCRIBE),
    ("creates is missing", CREATES, ExecState(creates_exists=False), False, RUN),
    ("creates went after a run", CREATES, ExecState(creates_exists=False, ran=True), False, RUN),
    ("creates did not come with a run", CREATES, ExecState(False, ran=True, fruitless=True), False, NOTHING),
    ("nor did it, and it is polled", CREATES | POLL, ExecState(False, ran=True, fruitless=True), False, RUN),
    ("a refresh beats that", CREATES, ExecState(False, ran=True, fruitless=True), True, VIA_SUBSCRIBE),
    ("creates is there", CREATES, ExecState(creates_exists=True), False, NOTHING),
    ("a refresh beats creates", CREATES, ExecState(creates_exists=True), True, VIA_SUBSCRIBE),
    ("onlyif succeeds", ONLYIF, ExecState(onlyif_ok=True), False, RUN),
    ("onlyif succeeds after a run", ONLYIF, ExecState(onlyif_ok=True, ran=True), False, RUN),
    ("onlyif fails", ONLYIF, ExecState(onlyif_ok=False), False, NOTHING),
    ("a refresh beats onlyif", ONLYIF, ExecState(onlyif_ok=False), True, VIA_SUBSCRIBE),
    ("unless fails", UNLESS, ExecState(unless_ok=False), False, RUN),
    ("unless fails after a run", UNLESS, ExecState(unless_ok=False, ran=True), False, RUN),
    ("unless succeeds", UNLESS, ExecState(unless_ok=True), False, NOTHING),
    ("a refresh beats unless", UNLESS, ExecState(unless_ok=True), True, VIA_SUBSCRIBE),
    ("all guards let it run", ALL, ExecState(False, True, False), False, RUN),
    ("of all guards creates declines", ALL, ExecState(creates_exists=True), False, NOTHING),
    ("of all guards onlyif declines", ALL, ExecState(False, False), False, NOTHING),
    ("of all guards unless declines", ALL, ExecState(False, True, True), False, NOTHING),
    ("refreshonly waits", REFRESHONLY, ExecState(), False, NOTHING),
    ("refreshonly waits after a run", REFRESHONLY, ExecState(ran=True), False, NOTHING),
    ("refreshonly runs on a refresh", REFRESHONLY, ExecState(), True, VIA_SUBSCRIBE),
    ("refreshonly waits when guards ask", REFRESHONLY | ONLYIF, ExecState(onlyif_ok=True), False, NOTHING),
    ("absent changes nothing", {"ensure": "absent"}, ExecState(), False, RUN),
]


@pytest.mark.parametrize(
    ("properties", "state", "refresh", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_the_decision_table_holds(properties, state, refresh, expected):
    plan = Exec(name="/bin/true", **properties).plan(state, refresh=refresh)
    assert [(action.would, action.did) for action in plan] == expected


def test_a_refresh_runs_whatever_the_state_is():
    answers = (None, True, False)
    for creates, onlyif, unless, ran in itertools.product(answers, answers, answers, (True, False)):
        plan = Exec(name="/bin/true", **ALL).plan(ExecState(creates, onlyif, unless, ran), refresh=True)
        assert [action.did for action in plan] == ["executed via subscribe"]


def test_the_same_state_gives_the_same_plan():
    resource = Exec(name="/bin/true")
    assert resource.plan(ExecState(), refresh=False) == resource.plan(ExecState(), refresh=False)
