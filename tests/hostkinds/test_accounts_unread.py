"""Accounts that can't be read are not absent."""

import time

import pytest

from reactor import ResourceError
from reactor.resources.accounts import database


@pytest.mark.parametrize(("path", "find"), [("PASSWD", database.find_user), ("GROUP", database.find_group)])
def test_without_the_file_no_one_is_called_absent(path, find, monkeypatch, tmp_path):
    monkeypatch.setattr(database, path, str(tmp_path / "gone"))
    with pytest.raises(ResourceError):
        find("root")


LINE = "{0}:x:{1}:{1}:comment:/home/{0}:/bin/sh\n"


def test_a_file_that_has_not_changed_is_read_once_for_all_its_users(monkeypatch, tmp_path):
    path = tmp_path / "passwd"
    path.write_text("".join(LINE.format(f"u{number}", 2000 + number) for number in range(200)))
    monkeypatch.setattr(database, "PASSWD", str(path))
    monkeypatch.setattr(database, "stamp_is_reliable", lambda found, now: True)
    first = database.users()
    assert [database.uid_of(f"u{number}") for number in range(200)] == [*range(2000, 2200)]
    assert database.users() is first


@pytest.mark.parametrize("is_reliable", [False, True])
def test_a_change_of_the_file_is_seen_by_the_next_look(monkeypatch, tmp_path, is_reliable):
    path = tmp_path / "passwd"
    monkeypatch.setattr(database, "PASSWD", str(path))
    monkeypatch.setattr(database, "stamp_is_reliable", lambda found, now: is_reliable)
    for uid in (2000, 2001, 2002):
        path.with_suffix(".new").write_text(LINE.format("ada", uid))
        path.with_suffix(".new").rename(path)
        assert database.uid_of("ada") == uid


def test_a_file_that_was_just_written_is_not_taken_as_read(monkeypatch, tmp_path):
    """A second write in the same tick of the clock may leave the stat as it was."""
    path = tmp_path / "passwd"
    path.write_text(LINE.format("ada", 2000))
    monkeypatch.setattr(database, "PASSWD", str(path))
    monkeypatch.setattr(time, "time_ns", lambda: path.stat().st_ctime_ns)
    first = database.users()
    assert database.users() is not first
