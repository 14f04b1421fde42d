"""What waits to be written, while what was taken before can't be."""

from __future__ import annotations

from reactor.journal.backlog import Backlog, Generation

PAIR, OTHER = ("file#/a", "exec#x"), ("file#/a", "exec#y")


def test_what_was_said_later_replaces_what_could_not_be_written():
    backlog = Backlog()
    backlog.set_owed(PAIR, 1.0)
    backlog.set_owed(OTHER, 1.0)
    backlog.set_applied("file#/a", "old", 1.0)
    backlog.set_aliases({"old": "file#/a"})
    first = backlog.take()
    backlog.set_owed(PAIR, None, paid=2.0)
    backlog.set_applied("file#/a", "new", 2.0)
    backlog.set_aliases({"new": "file#/a"})
    backlog.give_back(first)
    batch = backlog.take()
    assert batch.refreshes == {PAIR: (None, 2.0), OTHER: (1.0, None)}
    assert batch.resources == {"file#/a": ("new", 2.0)}
    assert batch.aliases == {"new": "file#/a"}


def test_a_refresh_that_is_owed_again_keeps_when_it_was_paid_last():
    backlog = Backlog()
    backlog.set_owed(PAIR, None, paid=1.0)
    first = backlog.take()
    backlog.set_owed(PAIR, 2.0)
    backlog.give_back(first)
    assert backlog.take().refreshes == {PAIR: (2.0, 1.0)}


def test_what_is_urgent_is_given_back_in_the_same_order():
    backlog = Backlog()
    backlog.set_owed(PAIR, 1.0)
    backlog.set_original("file#/a", None)
    urgent = backlog.take_urgent()
    backlog.set_owed(PAIR, None, paid=2.0)
    backlog.give_back(urgent)
    batch = backlog.take_urgent()
    assert batch.refreshes == {PAIR: (None, 2.0)}
    assert batch.originals == {"file#/a": None}


def test_generations_that_could_not_be_written_come_before_later_ones():
    backlog = Backlog()
    old, new = Generation(1, 1.0, "m", "a"), Generation(2, 2.0, "m", "b")
    backlog.add_generation(old, ["file#/a"])
    first = backlog.take()
    backlog.add_generation(new, ["file#/b"])
    backlog.give_back(first)
    batch = backlog.take()
    assert (batch.generations, batch.members) == ([old, new], ["file#/b"])
