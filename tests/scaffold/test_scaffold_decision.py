"""The decision table of a scaffold, with no host."""

import pytest

from resources.file.state import Attributes
from resources.scaffold.decision import decide
from resources.scaffold.state import Difference, ScaffoldState

MINE = Attributes(0, 0, 0o644)
NEW, DIRECTORY = Difference("/t/a", MINE, "text"), Difference("/t", MINE)


class Idle:
    async def build(self, state, *, purge):
        raise AssertionError("a plan changes nothing")

    async def clear(self, state):
        raise AssertionError("a plan changes nothing")

    async def diff(self, state, *, purge):
        return ""


def found(*, changed=0, stable=0, purged=0, exists=True, managed=0, directories=0):
    return ScaffoldState(
        target_exists=exists,
        changed=(NEW,) * changed,
        stable=("/t/b",) * stable,
        purged=("/t/c",) * purged,
        directories=(DIRECTORY,) * directories,
        managed=("/t/b",) * managed,
    )


LITTERED = ScaffoldState(target_exists=True, litter=("/t/.a.0123456789ab.reactor",))


@pytest.mark.parametrize(
    ("ensure", "state", "purge", "sentence"),
    [
        ("absent", found(exists=False, directories=1, changed=2), False, None),
        ("absent", found(changed=2, purged=3), False, None),
        ("absent", found(changed=2, purged=3), True, None),
        ("absent", found(changed=1, stable=2, managed=3), False, "Would have removed 3 scaffold files"),
        ("absent", found(stable=2, purged=1, managed=2), True, "Would have removed 2 scaffold files"),
        ("present", found(stable=2), False, None),
        ("present", found(stable=2), True, None),
        ("present", found(stable=2, purged=1), False, None),
        ("present", found(stable=2, purged=1), True, "Would have changed 1 scaffold files"),
        ("present", found(changed=2, stable=1, purged=1), False, "Would have changed 2 scaffold files"),
        ("present", found(changed=2, stable=1, purged=1), True, "Would have changed 3 scaffold files"),
        (
            "present",
            found(exists=False, changed=2, directories=1),
            False,
            "Would have changed 2 scaffold files",
        ),
        ("present", found(exists=False, directories=1), False, "Would have changed 1 scaffold directories"),
        ("present", found(stable=2, directories=2), False, "Would have changed 2 scaffold directories"),
        ("present", LITTERED, False, "Would have removed temporary files of an interrupted run"),
        ("present", found(), False, None),
    ],
)
def test_what_is_done_about_what_was_found(ensure, state, purge, sentence):
    plan = decide(ensure, state, Idle(), purge=purge)
    assert [action.would for action in plan] == ([] if sentence is None else [sentence])
    assert plan == decide(ensure, state, Idle(), purge=purge)
