"""What the past of a session means for a resource, as a table; and promises of it on random pasts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.engine.events import Result
from reactor.ensure.sessions import Ensured, Prerequisites, UnknownNameError, prerequisites, summary

OK, CHANGED, WOULD, FAILED, BLOCKED, SKIPPED = (
    Result.OK, Result.CHANGED, Result.WOULD_CHANGE, Result.FAILED, Result.BLOCKED, Result.SKIPPED,
)  # fmt: skip


def past_of(*pairs):
    return [
        Ensured(
            float(time),
            f"exec#{name}",
            None,
            result,
            noop=result is WOULD,
            culprits=("exec#root",) * (result is BLOCKED),
        )
        for time, (name, result) in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("past", "culprits"),
    [
        ([("a", OK)], ()),
        ([("a", CHANGED)], ()),
        ([("a", SKIPPED)], ()),
        ([("a", WOULD)], ()),
        ([("a", FAILED)], ("exec#a",)),
        ([("a", BLOCKED)], ("exec#root",)),
        ([("a", FAILED), ("a", OK)], ()),
        ([("a", OK), ("a", FAILED)], ("exec#a",)),
        ([("a", OK), ("b", FAILED)], ()),
    ],
)
def test_the_last_time_decides_whether_a_requirement_is_met(past, culprits):
    for require, subscribe in ((["exec#a"], []), ([], ["exec#a"])):
        assert prerequisites(past_of(*past), "exec#me", require, subscribe, noop=False).culprits == culprits


@pytest.mark.parametrize(
    ("past", "noop", "refresh"),
    [
        ([("a", OK)], False, False),
        ([("a", CHANGED)], False, True),
        ([("a", CHANGED)], True, True),
        ([("a", CHANGED), ("a", OK)], False, True),
        ([("a", CHANGED), ("me", CHANGED)], False, False),
        ([("a", CHANGED), ("me", OK), ("a", OK)], False, False),
        ([("a", CHANGED), ("me", FAILED)], False, True),
        ([("a", CHANGED), ("me", SKIPPED)], False, True),
        ([("a", CHANGED), ("me", BLOCKED)], False, True),
        ([("a", CHANGED), ("me", WOULD)], False, True),
        ([("a", CHANGED), ("me", WOULD)], True, False),
        ([("me", OK), ("a", CHANGED)], False, True),
        ([("a", WOULD)], False, False),
        ([("a", WOULD)], True, True),
        ([("a", OK), ("b", CHANGED)], False, False),
    ],
)
def test_a_change_is_a_refresh_until_that_has_succeeded(past, noop, refresh):
    assert prerequisites(past_of(*past), "exec#me", [], ["exec#a"], noop=noop) == Prerequisites(
        refresh=refresh
    )


def test_what_failed_after_a_change_is_a_refresh_once_it_is_well():
    past = [Ensured(0.0, "exec#a", None, FAILED, touched=True)]
    assert prerequisites(past, "exec#me", [], ["exec#a"], noop=False) == Prerequisites(("exec#a",))
    past.append(Ensured(1.0, "exec#a", None, OK))
    assert prerequisites(past, "exec#me", [], ["exec#a"], noop=False) == Prerequisites(refresh=True)


def test_to_require_a_change_is_no_refresh():
    assert prerequisites(past_of(("a", CHANGED)), "exec#me", ["exec#a"], [], noop=False) == Prerequisites()


def test_an_alias_is_as_good_as_the_name():
    past = [Ensured(0.0, "exec#a", "b", CHANGED)]
    assert prerequisites(past, "exec#me", [], ["exec#b"], noop=False).refresh
    with pytest.raises(UnknownNameError):
        prerequisites(past, "exec#me", [], ["file#b"], noop=False)


pasts = st.lists(st.tuples(st.sampled_from(["a", "b", "me"]), st.sampled_from(list(Result))), max_size=12)


@given(pasts)
def test_no_refresh_is_lost_and_none_comes_twice(pairs):
    """After any past: one more change is a refresh, and one more success ends that."""
    after_change = past_of(*pairs, ("a", CHANGED))
    assert prerequisites(after_change, "exec#me", [], ["exec#a"], noop=False).refresh
    after_success = [*after_change, Ensured(99.0, "exec#me", None, CHANGED)]
    assert not prerequisites(after_success, "exec#me", [], ["exec#a"], noop=False).refresh


@given(pasts)
def test_the_summary_counts_every_call_once(pairs):
    told = summary(past_of(*pairs))
    kinds = ("stable", "changed", "would_change", "failed", "skipped")
    counted = sum(told[f"{kind}_resources"] for kind in kinds)
    assert counted == told["total_resources"] == len(pairs)
    assert told["requirements_unmet_count"] == sum(result is Result.BLOCKED for _, result in pairs)
    assert told["unique_resources"] == len({name for name, _ in pairs})
