import json
import os
import resource
import socket
import stat
import threading
from contextlib import contextmanager

import pytest

from reactor.control.pause_file import Pause, PauseFile, effective
from reactor.journal.state_directory import PAUSES_FILE


@pytest.fixture
def told():
    return []


@pytest.fixture
def pauses(tmp_path, told):
    return PauseFile(str(tmp_path), told.append)


def in_force(pauses, ref, now):
    pause = effective(pauses.read(), (ref,), now)
    return pause and pause.reason


def test_a_pause_is_there_for_the_next_process_until_its_time(tmp_path, pauses, told):
    pauses.add(["file#/etc/*"], 100.0, 160.0, "upgrade")
    again = PauseFile(str(tmp_path), told.append)
    assert again.read() == (Pause("file#/etc/*", 100.0, 160.0, "upgrade"),)
    assert in_force(again, "file#/etc/a/b", 159.9) == "upgrade"
    assert in_force(again, "file#/etc/a/b", 160.0) is None
    assert in_force(again, "file#/srv/a", 101.0) is None


def test_the_last_word_on_a_resource_wins(pauses):
    pauses.add(["*"], 0.0, 100.0, "wide")
    pauses.add(["file#/a"], 1.0, 50.0, "narrow")
    assert in_force(pauses, "file#/a", 10.0) == "narrow"
    assert in_force(pauses, "file#/b", 10.0) == "wide"
    assert in_force(pauses, "file#/a", 60.0) == "wide"


def test_a_new_pause_of_the_same_pattern_replaces_the_old(pauses):
    pauses.add(["*"], 0.0, 100.0, "old")
    pauses.add(["*"], 0.0, 10.0, "new")
    assert in_force(pauses, "file#/a", 20.0) is None


def test_one_resource_can_be_taken_out_of_a_wide_pause(pauses):
    pauses.add(["file#*"], 0.0, 100.0, "wide")
    pauses.remove(["file#/a"], 1.0)
    assert in_force(pauses, "file#/a", 2.0) is None
    assert in_force(pauses, "file#/b", 2.0) == "wide"
    pauses.add(["file#/a"], 3.0, 50.0, "again")
    assert in_force(pauses, "file#/a", 4.0) == "again"


def test_taking_everything_back_leaves_nothing(pauses):
    pauses.add(["file#/[a]"], 0.0, 100.0, "one")
    pauses.add(["exec#*"], 0.0, 100.0, "two")
    assert pauses.remove(["*"], 1.0) == ()
    assert pauses.read() == ()


def test_what_is_over_is_forgotten_with_its_exceptions(pauses):
    pauses.add(["*"], 0.0, 10.0, "wide")
    pauses.remove(["file#/a"], 1.0)
    pauses.add(["file#/b"], 20.0, 30.0, "later")
    assert [pause.pattern for pause in pauses.read()] == ["file#/b"]


def test_a_name_with_brackets_means_itself(pauses):
    pauses.add(["file#/[x]"], 0.0, 10.0, "odd")
    assert in_force(pauses, "file#/[x]", 1.0) == "odd"


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"pattern": "*"}]', '[{"pattern":1,"since":0,"until":1,"reason":""}]',
    '[{"pattern":"*","since":0,"until":"soon","reason":""}]', '[{"pattern":"*","since":0,"until":Infinity,"reason":""}]',
    '[{"pattern":"*","since":0,"until":NaN,"reason":""}]', '[{"pattern":"*","since":0,"until":1e12,"reason":""}]',
    '{"a": 1}', "[" * 100_000])  # fmt: skip
def test_a_file_that_makes_no_sense_is_moved_aside_loudly(tmp_path, pauses, told, text):
    (tmp_path / PAUSES_FILE).write_text(text)
    assert pauses.read() == ()
    assert "nothing is paused; it is kept as " in told[0]
    (aside,) = tmp_path.glob(f"{PAUSES_FILE}.broken-*")
    assert aside.read_text() == text
    pauses.add(["*"], 0.0, 10.0, "works again")
    assert in_force(pauses, "file#/a", 1.0) == "works again"


def link_to_itself(path):
    path.symlink_to(path.name)


def socket_at(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, link_to_itself, socket_at])
def test_what_is_no_file_is_moved_aside_and_not_waited_for(tmp_path, pauses, told, make):
    make(tmp_path / PAUSES_FILE)
    assert pauses.read() == ()
    assert "nothing is paused; it is kept as " in told[0]
    assert len(list(tmp_path.glob(f"{PAUSES_FILE}.broken-*"))) == 1


@contextmanager
def limited(which):
    """Without a byte, or a descriptor, left to have."""
    soft, hard = resource.getrlimit(which)
    resource.setrlimit(which, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(which, (soft, hard))


def test_pauses_that_can_not_be_read_now_are_reported_and_kept_for_later(tmp_path, pauses, told):
    pauses.add(["*"], 0.0, 10.0, "upgrade")
    with limited(resource.RLIMIT_NOFILE):
        assert pauses.read() == ()
    assert told == [
        f"{tmp_path}/{PAUSES_FILE} can't be read (Too many open files): nothing is paused; fix or remove it"
    ]
    assert in_force(pauses, "file#/a", 1.0) == "upgrade"


def test_a_pause_that_can_not_be_kept_says_where_and_leaves_the_old_ones(tmp_path, pauses):
    pauses.add(["*"], 0.0, 10.0, "old")
    with limited(resource.RLIMIT_FSIZE), pytest.raises(OSError, match=PAUSES_FILE):
        pauses.add(["*"], 0.0, 10.0, "new")
    assert in_force(pauses, "file#/a", 1.0) == "old"
    assert sorted(os.listdir(tmp_path)) == [PAUSES_FILE, "pauses.lock"]


def test_the_file_is_replaced_as_a_whole_and_is_private(tmp_path, pauses):
    pauses.add(["*"], 0.0, 10.0, "one")
    before = (tmp_path / PAUSES_FILE).stat().st_ino
    with (tmp_path / PAUSES_FILE).open() as old:
        pauses.add(["*"], 0.0, 10.0, "two")
        assert json.load(old)[0]["reason"] == "one"
    assert (tmp_path / PAUSES_FILE).stat().st_ino != before
    assert stat.S_IMODE((tmp_path / PAUSES_FILE).stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == [PAUSES_FILE, "pauses.lock"]


def test_two_at_once_do_not_undo_each_others_pauses(tmp_path, told):
    def add(name):
        for number in range(10):
            PauseFile(str(tmp_path), told.append).add([f"{name}#{number}"], 0.0, 10.0, "x")

    threads = [threading.Thread(target=add, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(PauseFile(str(tmp_path), told.append).read()) == 40


def test_reading_makes_nothing(tmp_path, pauses):
    assert pauses.read() == ()
    assert os.listdir(tmp_path) == []
