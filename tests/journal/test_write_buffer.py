"""What waits to be written, while what was taken before can't be."""

from __future__ import annotations

from reactor.journal.undo_records import UndoRecord
from reactor.journal.write_buffer import Generation, WriteBuffer

PAIR, OTHER = ("file#/a", "exec#x"), ("file#/a", "exec#y")


def test_what_was_said_later_replaces_what_could_not_be_written():
    write_buffer = WriteBuffer()
    write_buffer.set_pending(PAIR, 1.0)
    write_buffer.set_pending(OTHER, 1.0)
    write_buffer.set_applied("file#/a", "old", 1.0)
    write_buffer.set_aliases({"old": "file#/a"})
    first = write_buffer.take()
    write_buffer.set_pending(PAIR, None, made=2.0)
    write_buffer.set_applied("file#/a", "new", 2.0)
    write_buffer.set_aliases({"new": "file#/a"})
    write_buffer.give_back(first)
    batch = write_buffer.take()
    assert batch.refreshes == {PAIR: (None, 2.0), OTHER: (1.0, None)}
    assert batch.resources == {"file#/a": ("new", 2.0)}
    assert batch.aliases == {"new": "file#/a"}


def test_a_refresh_that_is_pending_again_keeps_when_it_was_made_last():
    write_buffer = WriteBuffer()
    write_buffer.set_pending(PAIR, None, made=1.0)
    first = write_buffer.take()
    write_buffer.set_pending(PAIR, 2.0)
    write_buffer.give_back(first)
    assert write_buffer.take().refreshes == {PAIR: (2.0, 1.0)}


def test_what_is_urgent_is_given_back_in_the_same_order():
    write_buffer = WriteBuffer()
    write_buffer.set_pending(PAIR, 1.0)
    write_buffer.set_original("file#/a", None)
    urgent = write_buffer.take_urgent()
    write_buffer.set_pending(PAIR, None, made=2.0)
    write_buffer.give_back(urgent)
    batch = write_buffer.take_urgent()
    assert batch.refreshes == {PAIR: (None, 2.0)}
    assert batch.originals == {"file#/a": None}


def test_an_original_that_is_recorded_again_replaces_that_which_could_not_be_written():
    old, new = (UndoRecord("file#/a", "m", "file", content) for content in ("{}", None))
    write_buffer = WriteBuffer()
    write_buffer.set_original("file#/a", old)
    write_buffer.set_original("file#/b", old)
    urgent = write_buffer.take_urgent()
    write_buffer.set_original("file#/a", new)
    write_buffer.give_back(urgent)
    assert write_buffer.take_urgent().originals == {"file#/a": new, "file#/b": old}


def test_generations_that_could_not_be_written_come_before_later_ones():
    write_buffer = WriteBuffer()
    old, new = Generation(1, 1.0, "m", "a"), Generation(2, 2.0, "m", "b")
    write_buffer.add_generation(old, ["file#/a"])
    first = write_buffer.take()
    write_buffer.add_generation(new, ["file#/b"])
    write_buffer.give_back(first)
    batch = write_buffer.take()
    assert (batch.generations, batch.members) == ([old, new], ["file#/b"])
