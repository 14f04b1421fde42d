"""What a change was, kept with its event: who is shown it, and what is never kept."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing

import pytest

from reactor.journal import diffs as kept_diffs
from reactor.journal import schema

OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def converge(reactor, manifest, tmp_path, state):
    """Converges a file on a content; returns what the command said."""

    def run(content, *options, top="", mode="0644"):
        own = OWN.replace("0644", mode)
        path = manifest(f"{top}resources:\n  - file:\n      - {tmp_path}/f: {{content: {content}, {own}}}\n")
        done = reactor("run", "--converge-once", "--state-dir", state, *options, path)
        assert done.code == 0, done.err
        return done

    return run


def events(reactor, state, *options):
    done = reactor("events", "--state-dir", state, "--format", "json", *options)
    return done.records


def test_events_know_what_was_changed(reactor, converge, tmp_path, state):
    converge('"one\\ntwo\\n"')
    converge('"one\\nthree\\n"')
    (changed,) = events(reactor, state, "--diff", "--ref", f"file#{tmp_path}/f")[-1]["diffs"]
    assert changed == f"--- {tmp_path}/f\n+++ {tmp_path}/f\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
    text = reactor("events", "--state-dir", state, "--diff").out
    assert "\n one\n-two\n+three\n" in text


def test_no_one_is_shown_a_diff_who_did_not_ask(reactor, converge, state):
    done = converge("before", "--format", "json")
    assert all(not json.loads(line).get("diffs") for line in done.out.splitlines())
    assert all(not event.get("diffs") for event in events(reactor, state))
    assert "before" not in converge("after").out


def test_why_reports_what_it_was_before(reactor, converge, tmp_path, state):
    converge("old-content")
    converge("new-content")
    lines = reactor("why", "--state-dir", state, f"file#{tmp_path}/f").out.splitlines()
    told = lines.index("  Content before (-) and after (+):")
    assert "    -old-content" in lines[told:]
    assert "    +new-content" in lines[told:]


def test_no_content_makes_a_line_of_its_own_in_a_diff(reactor, converge, tmp_path, state):
    """Another user may have written it: what ends a line elsewhere ends none here."""
    converge("old")
    (tmp_path / "f").write_text("old\u2028forged\x85forged\x0bforged\n")
    converge("new")
    lines = reactor("why", "--state-dir", state, f"file#{tmp_path}/f").out.splitlines()
    assert "    -old\\u2028forged\\x85forged\\x0bforged" in lines


def test_why_does_not_report_all_of_a_long_one(reactor, converge, tmp_path, state):
    converge("x")
    converge(json.dumps("".join(f"line {number}\n" for number in range(100))))
    said = reactor("why", "--state-dir", state, f"file#{tmp_path}/f").out
    assert "more lines: reactor events --diff shows them" in said
    assert "line 50" not in said


SECRET = "data:\n  # @secret\n  password: hunter2-was-here\n"


def bytes_of(directory):
    """All that is in the journal, its write-ahead log included."""
    return b"".join(path.read_bytes() for path in directory.glob("journal.sqlite*"))


def test_no_secret_of_now_or_before_is_kept_with_an_event(reactor, converge, tmp_path, state):
    (tmp_path / "f").write_text("former-secret-in-it")
    converge("'{{ Data.password }}'", top=SECRET)
    (diff,) = events(reactor, state, "--diff")[0]["diffs"]
    assert "not shown" in diff
    for secret in (b"hunter2-was-here", b"former-secret-in-it"):
        assert secret not in bytes_of(state)


def test_only_the_owner_may_read_the_diffs(converge, state):
    converge("before", mode="0600")
    converge("after", mode="0600")
    assert b"-before" in bytes_of(state)
    assert {path.stat().st_mode & 0o777 for path in state.glob("journal.sqlite*")} == {0o600}


def test_a_long_diff_is_cut(reactor, converge, state):
    converge(json.dumps("".join(f"line {number}\n" for number in range(10_000))))
    (diff,) = events(reactor, state, "--diff")[0]["diffs"]
    assert len(diff) < kept_diffs.DIFF_LIMIT + 100
    assert "characters more)" in diff


def test_the_oldest_diffs_go_first_and_those_of_events_that_are_gone():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            f"{schema.DIFFS} {schema.DIFF_SIZE} CREATE TABLE events (id INTEGER PRIMARY KEY);"
        )
        connection.executemany("INSERT INTO events VALUES (?)", [(number,) for number in range(2, 6)])
        mebibyte = 1 << 20
        third = "x" * (kept_diffs.BYTE_LIMIT // 3 + mebibyte)
        table = kept_diffs.DiffTable(connection)
        table.write((n, third) for n in range(1, 6))
        table.prune()
        assert connection.execute("SELECT event FROM diffs").fetchall() == [(4,), (5,)]


def test_a_journal_of_before_has_no_diffs_and_is_as_good(reactor, converge, tmp_path, state):
    converge("before")
    with closing(sqlite3.connect(state / "journal.sqlite")) as connection:
        connection.execute("DROP TABLE diffs")
        connection.commit()
    assert events(reactor, state, "--diff")[0]["diffs"] == []
    converge("after")
    assert events(reactor, state, "--diff", "--ref", "file#*")[-1]["diffs"]


def test_restore_shows_what_it_would_change_and_changes_nothing(reactor, converge, tmp_path, state):
    converge('"one\\n"')
    converge('"two\\n"')
    before = (tmp_path / "f").stat()
    done = reactor("restore", "--state-dir", state, "--diff", tmp_path / "f")
    assert (done.code, done.out) == (0, f"--- {tmp_path}/f\n+++ {tmp_path}/f\n@@ -1 +1 @@\n-two\n+one\n")
    assert (tmp_path / "f").stat().st_ino == before.st_ino
    record = json.loads(
        reactor("restore", "--state-dir", state, "--diff", "--format", "json", tmp_path / "f").out
    )
    assert record["diffs"] == [done.out]
    assert len(reactor("restore", "--state-dir", state, "--list", tmp_path / "f").out.splitlines()) == 2


def test_restore_shows_nothing_of_a_file_that_held_a_secret(reactor, converge, tmp_path, state):
    """Also when the manifest has none any more: what is kept is from then."""
    converge("'{{ Data.password }}'", top=SECRET)
    converge("'{{ Data.password }}{{ Data.password }}'", top=SECRET)
    converge("plain")
    done = reactor("restore", "--state-dir", state, "--diff", tmp_path / "f")
    assert (done.code, "may contain secrets" in done.err) == (1, True)
    assert "hunter2" not in done.out + done.err
    assert reactor("restore", "--state-dir", state, tmp_path / "f").code == 0
    assert (tmp_path / "f").read_text() == "hunter2-was-here" * 2


def test_restore_shows_nothing_of_what_a_scaffold_made_with_a_secret(reactor, manifest, tmp_path, state):
    (tmp_path / "from").mkdir()
    for text in ("{{ .Data.password }} one", "{{ .Data.password }} two"):
        (tmp_path / "from" / "f").write_text(text)
        entry = f"{tmp_path}/to: {{ensure: present, source: {tmp_path}/from, engine: go}}"
        path = manifest(f"{SECRET}resources:\n  - scaffold:\n      - {entry}\n")
        done = reactor("run", "--converge-once", "--state-dir", state, path)
        assert done.code == 0, done.err
    done = reactor("restore", "--state-dir", state, "--diff", tmp_path / "to" / "f")
    assert (done.code, "may contain secrets" in done.err) == (1, True)
    assert b"hunter2-was-here" not in bytes_of(state)


@pytest.mark.parametrize("former", ["secret('hunter2-of-old')", "Data.password"])
def test_a_secret_that_an_edit_removes_is_not_shown_by_the_next_diff(
    reactor, converge, tmp_path, state, former
):
    """The manifest that removes it does not know it any more."""
    data = "data:\n  password: hunter2-of-old # @secret\n" if "Data" in former else ""
    converge(f'"password ${{ {former} }}\\nport 1\\n"', top=data)
    assert "hunter2-of-old" in (tmp_path / "f").read_text()
    for options in (("--noop", "--diff"), ("--diff",)):
        done = converge('"port 2\\n"', *options)
        assert "+port 2" in done.out
        assert "hunter2-of-old" not in done.out
    restored = reactor("restore", tmp_path / "f", "--diff", "--state-dir", state)
    assert "hunter2-of-old" not in restored.out
    assert all("hunter2-of-old" not in file for file in _texts_of_the_journal(state))
    assert "-port 2" in converge('"port 3\\n"', "--diff").out


def _texts_of_the_journal(state):
    with closing(sqlite3.connect(f"file:{state}/journal.sqlite?mode=ro", uri=True)) as connection:
        yield from (texts for (texts,) in connection.execute("SELECT texts FROM diffs"))
