"""Which refreshes are owed, whatever is intended and refreshed in whatever order."""

from hypothesis import given
from hypothesis import strategies as st

from reactor.journal.debts import Debts

REFS = ["a", "b", "c"]


def test_an_intent_is_owed_by_every_subscriber():
    debts = Debts()
    assert debts.intend("a", ["x", "y"]) == [("a", "x"), ("a", "y")]
    assert list(debts.owing()) == ["x", "y"]


def test_what_is_owed_already_is_not_owed_anew():
    debts = Debts()
    debts.intend("a", ["x"])
    assert debts.intend("a", ["x", "y"]) == [("a", "y")]


def test_a_refresh_pays_all_sources_at_once():
    debts = Debts([("a", "x"), ("b", "x"), ("a", "y")])
    debts.begins("x")
    assert sorted(debts.refreshed("x")) == [("a", "x"), ("b", "x")]
    assert debts.pairs() == [("a", "y")]


def test_an_intent_during_the_refresh_survives_it():
    debts = Debts([("a", "x"), ("b", "x")])
    debts.begins("x")
    debts.intend("b", ["x"])
    assert debts.refreshed("x") == [("a", "x")]
    assert debts.pairs() == [("b", "x")]


def test_a_refresh_that_failed_pays_nothing_and_the_next_one_all():
    debts = Debts([("a", "x")])
    debts.begins("x")
    debts.intend("b", ["x"])
    debts.begins("x")
    assert sorted(debts.refreshed("x")) == [("a", "x"), ("b", "x")]
    assert debts.owing() == {}


@given(st.lists(st.tuples(st.sampled_from(["intend", "begin", "end"]), st.sampled_from(REFS))))
def test_what_is_owed_is_what_was_intended_after_the_last_paid_refresh_began(steps):
    """The model: every intent ever, and since when each subscriber has paid."""
    debts, written = Debts(), set()
    intents, began, paid = [], {}, dict.fromkeys(REFS, 0)
    for moment, (step, ref) in enumerate(steps, 1):
        if step == "intend":
            intents.append((moment, ref))
            written.update(debts.intend(ref, REFS))
        elif step == "begin":
            began[ref] = moment
            debts.begins(ref)
        elif ref in began:
            paid[ref] = began.pop(ref)
            written.difference_update(debts.refreshed(ref))
        owed = {(source, each) for each in REFS for when, source in intents if when > paid[each]}
        assert set(debts.pairs()) == written == owed
