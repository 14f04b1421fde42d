"""What waits to be written, while what was taken before can't be."""

from __future__ import annotations

from journal_worlds import changed

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


def waiting(write_buffer, event):
    """The diffs of the event, as they wait in the buffer."""
    write_buffer.add_event(event, 1)
    return write_buffer._batch.events[-1][0].diffs


def test_diffs_wait_up_to_their_limit_and_get_room_again_once_they_are_written(monkeypatch):
    monkeypatch.setattr("reactor.journal.write_buffer.WAITING_LIMIT", 100)
    write_buffer, sixty = WriteBuffer(), changed(diffs=("x" * 60,))
    assert waiting(write_buffer, sixty) == sixty.diffs
    assert waiting(write_buffer, sixty) == ()
    assert waiting(write_buffer, changed(diffs=("y" * 40,))) == ("y" * 40,)
    assert waiting(write_buffer, changed(diffs=("y",))) == ()
    batch = write_buffer.take()
    assert waiting(write_buffer, sixty) == sixty.diffs
    write_buffer.give_back(batch)
    assert waiting(write_buffer, changed(diffs=("y" * 50,))) == ()


def test_a_full_buffer_drops_the_oldest_with_its_diffs_and_counts_it(monkeypatch):
    monkeypatch.setattr("reactor.journal.write_buffer.EVENT_LIMIT", 2)
    monkeypatch.setattr("reactor.journal.write_buffer.WAITING_LIMIT", 100)
    write_buffer = WriteBuffer()
    for name in "abcd":
        assert waiting(write_buffer, changed(f"file#/{name}", diffs=(name * 50,))) == (name * 50,)
    assert write_buffer.events == 2
    batch = write_buffer.take()
    assert [event.ref for event, _ in batch.events] == ["file#/c", "file#/d"]
    assert batch.dropped == 2
    assert not write_buffer.take()


def test_what_is_given_back_again_and_again_stays_within_the_limit(monkeypatch):
    monkeypatch.setattr("reactor.journal.write_buffer.EVENT_LIMIT", 2)
    write_buffer = WriteBuffer()
    for _ in range(3):
        batch = write_buffer.take()
        for name in "ab":
            write_buffer.add_event(changed(f"file#/{name}"), 1)
        write_buffer.give_back(batch)
    write_buffer.add_event(changed("file#/c"), 1)
    batch = write_buffer.take()
    assert [event.ref for event, _ in batch.events] == ["file#/b", "file#/c"]
    assert batch.dropped == 5


def test_all_known_state_is_written_again_to_a_new_file():
    write_buffer, original = WriteBuffer(), UndoRecord("file#/a", "/etc/site.yaml", None, None)
    write_buffer.restate([PAIR], [original], {"file#/a": "digest"}, {"a": "file#/a"})
    batch = write_buffer.take()
    assert list(batch.refreshes) == [PAIR]
    assert batch.originals == {"file#/a": original}
    assert {ref: digest for ref, (digest, _) in batch.resources.items()} == {"file#/a": "digest"}
    assert batch.aliases == {"a": "file#/a"}
