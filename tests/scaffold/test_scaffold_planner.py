"""The decision table of a scaffold, with no host."""

import pytest

from reactor.hostfs import Attributes
from reactor.resources.scaffold.planner import plan_scaffold
from reactor.resources.scaffold.state import Difference, ScaffoldState

MINE = Attributes(0, 0, 0o644)
NEW, DIRECTORY = Difference("/t/a", MINE, "text"), Difference("/t", MINE)


class Idle:
    async def build(self, state, *, purge):
        raise AssertionError("a plan changes nothing")

    async def clear(self, state):
        raise AssertionError("a plan changes nothing")

    async def diff(self, state, *, purge):
        return ""


def found(*, changed=0, purged=0, managed=0, directories=0):
    return ScaffoldState(
        changed=(NEW,) * changed,
        purged=("/t/c",) * purged,
        directories=(DIRECTORY,) * directories,
        managed=("/t/b",) * managed,
    )


LITTERED = ScaffoldState(stale_temporaries=("/t/.a.0123456789ab.reactor",))
LITTER = "temporary files of an interrupted run: /t/.a.0123456789ab.reactor"


@pytest.mark.parametrize(
    ("ensure", "state", "purge", "sentence"),
    [
        ("absent", found(directories=1, changed=2), False, None),
        ("absent", found(changed=2, purged=3), False, None),
        ("absent", found(changed=2, purged=3), True, None),
        ("absent", found(changed=1, managed=3), False, "Would have removed 3 scaffold files"),
        ("absent", found(purged=1, managed=2), True, "Would have removed 2 scaffold files"),
        ("present", found(), False, None),
        ("present", found(), True, None),
        ("present", found(purged=1), False, None),
        ("present", found(purged=1), True, "Would have changed 1 scaffold files"),
        ("present", found(changed=2, purged=1), False, "Would have changed 2 scaffold files"),
        ("present", found(changed=2, purged=1), True, "Would have changed 3 scaffold files"),
        ("present", found(changed=2, directories=1), False, "Would have changed 2 scaffold files"),
        ("present", found(directories=1), False, "Would have changed 1 scaffold directories"),
        ("present", found(directories=2), False, "Would have changed 2 scaffold directories"),
        ("present", LITTERED, False, f"Would have removed {LITTER}"),
        ("absent", LITTERED, False, f"Would have removed {LITTER}"),
    ],
)
def test_what_is_done_about_what_was_found(ensure, state, purge, sentence):
    plan = plan_scaffold(ensure, state, Idle(), purge=purge)
    assert [action.would for action in plan] == ([] if sentence is None else [sentence])
    assert plan == plan_scaffold(ensure, state, Idle(), purge=purge)
