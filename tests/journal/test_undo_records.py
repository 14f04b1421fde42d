"""How things were before the first change: on record before that is made, and until it is undone."""

import sqlite3
from contextlib import closing

import pytest
from journal_worlds import journal_in, told_by

from reactor.journal.journal import Journal
from reactor.journal.schema import FILE_NAME
from reactor.resource.plan import ResourceError
from reactor.resources.file import File
from reactor.resources.mount import Mount
from reactor.resources.parts import Setting


def absent(path):
    return File(name=path, ensure="absent")


def wanted(path, *, reverse=True):
    return File(name=path, ensure="absent", meta={"reverse": reverse})


def on_disk(directory):
    with closing(sqlite3.connect(f"file:{directory}/{FILE_NAME}?mode=ro", uri=True)) as connection:
        return [ref for (ref,) in connection.execute("SELECT ref FROM originals ORDER BY id")]


async def test_it_is_on_the_disk_at_once_and_the_last_is_undone_first(directory):
    journal = told_by(directory)
    for path in ("/a", "/b", "/c"):
        await journal.record_reversal(f"file#{path}", absent(path))
        assert on_disk(directory)[-1] == f"file#{path}"
    with closing(sqlite3.connect(directory / FILE_NAME)) as kept:  # as a process that is killed leaves it
        kept.execute("PRAGMA wal_checkpoint")
    journal._writer.store.close()
    with journal_in(directory) as later:
        assert later.can_undo("file#/a")
        assert later.reversals({"file#/b": wanted("/b")}) == [absent("/c"), absent("/a")]


async def test_what_is_undone_is_forgotten_with_all_that_was_known_of_it(directory):
    with journal_in(directory) as journal:
        await journal.record_reversal("file#/a", absent("/a"))
        journal.applied(absent("/a"))
        journal.undone("file#/a")
        assert not journal.can_undo("file#/a")
    assert on_disk(directory) == []
    with journal_in(directory) as journal:
        assert journal.reversals({}) == []
        assert journal.cause_of(absent("/a")).name == "INITIAL"


async def test_what_was_found_as_desired_has_nothing_to_undo(directory):
    with journal_in(directory) as journal:
        journal.applied(wanted("/a"))
        assert journal.can_undo("file#/a")
    with journal_in(directory) as journal:
        assert journal.can_undo("file#/a")
        assert journal.reversals({}) == []
    assert on_disk(directory) == []


async def test_a_user_who_no_longer_asks_for_it_is_forgotten(directory):
    with journal_in(directory) as journal:
        await journal.record_reversal("file#/a", absent("/a"))
        assert journal.reversals({"file#/a": wanted("/a", reverse=False)}) == []
        assert journal.reversals({}) == []


@pytest.mark.parametrize(
    "reversal",
    [
        pytest.param(
            Setting(name="a", path="/etc/a.toml", ensure="absent"), id="no property that was not set"
        ),
        pytest.param(
            Mount.model_validate(
                {"name": "/a", "ensure": "present", "device": "/dev/a", "fstype": "ext4", "pass": 2}
            ),
            id="a property by its name in a manifest",
        ),
    ],
)
async def test_a_reversal_is_read_as_it_was_recorded(directory, reversal):
    with journal_in(directory) as journal:
        await journal.record_reversal(reversal.ref, reversal)
    with journal_in(directory) as journal:
        (found,) = journal.reversals({})
    assert (found, found.model_fields_set) == (reversal, reversal.model_fields_set)
    assert list(found.property_problems()) == []


async def test_another_manifest_undoes_nothing_and_forgets_nothing(directory):
    with journal_in(directory) as journal:
        await journal.record_reversal("file#/a", absent("/a"))
    other = Journal.open(str(directory), "/etc/other.yaml", str)
    assert other.reversals({}) == []
    other.close()
    with journal_in(directory) as journal:
        assert journal.reversals({}) == [absent("/a")]


async def test_a_later_record_of_another_manifest_hides_none_of_ours(directory):
    with journal_in(directory) as journal:
        await journal.record_reversal("file#/a", absent("/a"))
    other = Journal.open(str(directory), "/etc/other.yaml", str)
    await other.record_reversal("file#/b", absent("/b"))
    other.close()
    with journal_in(directory) as journal:
        assert journal.reversals({}) == [absent("/a")]


async def test_what_a_full_disk_keeps_from_being_undone_stays_applied(directory):
    with journal_in(directory, []) as journal:
        await journal.record_reversal("file#/a", absent("/a"))
        journal.undone("file#/a")
        journal.applied(absent("/a"))
        journal._writer.store._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(ResourceError, match="could not be undone"):
            await journal.record_reversal("file#/a", absent(f"/{'a' * 100_000}"))
        assert not journal.can_undo("file#/a")
        assert journal.cause_of(absent("/a")).name == "DRIFT"


async def test_what_a_full_disk_keeps_from_being_added_leaves_the_record_as_it_was(directory):
    with journal_in(directory, []) as journal:
        await journal.record_reversal("file#/a", absent("/a"))
        journal._writer.store._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(ResourceError, match="could not be undone"):
            await journal.record_reversal("file#/a", absent(f"/{'a' * 100_000}"))
        assert journal.reversals({}) == [absent("/a")]


@pytest.mark.parametrize("manifest", ["https://example.net/site.tar.gz", "/etc/site.yaml"])
async def test_the_same_manifest_is_the_same_from_every_directory(directory, monkeypatch, manifest):
    first = Journal.open(str(directory), manifest, str)
    await first.record_reversal("file#/a", absent("/a"))
    first.close()
    monkeypatch.chdir("/")
    second = Journal.open(str(directory), manifest, str)
    assert second.reversals({}) == [absent("/a")]
    second.close()


async def test_what_can_not_be_made_any_more_is_reported_and_left_as_it_is(directory):
    with journal_in(directory) as journal:
        await journal.record_reversal("file#/a", absent("/a"))
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute("UPDATE originals SET kind = 'no such kind'")
        connection.commit()
    notes = []
    with journal_in(directory, notes) as journal:
        assert journal.reversals({}) == []
    assert notes == ["file#/a can't be undone: 'no such kind'; it stays as it is"]
