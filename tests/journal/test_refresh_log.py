"""Which refreshes are owed, whatever is intended and refreshed in whatever order."""

from hypothesis import given
from hypothesis import strategies as st

from reactor.journal.refresh_log import RefreshLog

REFS = ["a", "b", "c"]


def test_an_intent_is_pending_for_every_subscriber():
    refresh_log = RefreshLog()
    assert refresh_log.intend("a", ["x", "y"]) == [("a", "x"), ("a", "y")]
    assert list(refresh_log.by_subscriber()) == ["x", "y"]


def test_what_is_pending_already_is_not_pending_again():
    refresh_log = RefreshLog()
    refresh_log.intend("a", ["x"])
    assert refresh_log.intend("a", ["x", "y"]) == [("a", "y")]


def test_a_refresh_completes_all_sources_at_once():
    refresh_log = RefreshLog([("a", "x"), ("b", "x"), ("a", "y")])
    refresh_log.begins("x")
    assert sorted(refresh_log.refreshed("x")) == [("a", "x"), ("b", "x")]
    assert refresh_log.pairs() == [("a", "y")]


def test_an_intent_during_the_refresh_survives_it():
    refresh_log = RefreshLog([("a", "x"), ("b", "x")])
    refresh_log.begins("x")
    refresh_log.intend("b", ["x"])
    assert refresh_log.refreshed("x") == [("a", "x")]
    assert refresh_log.pairs() == [("b", "x")]


def test_a_refresh_that_failed_completes_nothing_and_the_next_one_all():
    refresh_log = RefreshLog([("a", "x")])
    refresh_log.begins("x")
    refresh_log.intend("b", ["x"])
    refresh_log.begins("x")
    assert sorted(refresh_log.refreshed("x")) == [("a", "x"), ("b", "x")]
    assert refresh_log.by_subscriber() == {}


@given(st.lists(st.tuples(st.sampled_from(["intend", "begin", "end"]), st.sampled_from(REFS))))
def test_what_is_pending_is_what_was_intended_after_the_last_made_refresh_began(steps):
    """The model: every intent ever, and since when each subscriber has paid."""
    refresh_log, written = RefreshLog(), set()
    intents, began, paid = [], {}, dict.fromkeys(REFS, 0)
    for moment, (step, ref) in enumerate(steps, 1):
        if step == "intend":
            intents.append((moment, ref))
            written.update(refresh_log.intend(ref, REFS))
        elif step == "begin":
            began[ref] = moment
            refresh_log.begins(ref)
        elif ref in began:
            paid[ref] = began.pop(ref)
            written.difference_update(refresh_log.refreshed(ref))
        owed = {(source, each) for each in REFS for when, source in intents if when > paid[each]}
        assert set(refresh_log.pairs()) == written == owed
