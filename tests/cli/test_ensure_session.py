"""``reactor session``: calls of one script know how the earlier ones ended."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest
from processes_of_cli import environment

from reactor.journal.schema import APPLICATION, FILE_NAME


@pytest.fixture
def session(reactor, tmp_path, monkeypatch):
    """A session, in the environment of this process."""
    directory = tmp_path / "session"
    done = reactor("session", "new", "--directory", directory)
    assert done.out == f"export REACTOR_SESSION={directory}\n"
    monkeypatch.setenv("REACTOR_SESSION", str(directory))
    return directory


def report(reactor, *options):
    done = reactor("session", "report", "--format", "json", *options)
    return done.code, json.loads(done.out)


def test_a_session_is_private_and_has_a_place_of_its_own(reactor, session, tmp_path, monkeypatch):
    assert stat.S_IMODE(session.stat().st_mode) == 0o700
    done = reactor("session", "new", "--directory", session)
    assert (done.code, done.out) == (1, "")
    assert "already exists" in done.err
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = (reactor("session", "new").out for _ in range(2))
    assert first != second
    assert str(tmp_path) in first


def test_a_change_refreshes_who_subscribes_to_it_once(reactor, session, tmp_path):
    path, log = tmp_path / "conf", tmp_path / "log"
    restart = [
        "ensure",
        "exec",
        f"echo restarted >> {log}",
        "--provider",
        "shell",
        "--refreshonly",
        "--subscribe",
    ]
    reactor("ensure", "file", path, "--content", "1")
    assert "executed via subscribe" in reactor(*restart, f"file#{path}").out
    assert reactor(*restart, f"file#{path}").out.endswith("  ok\n")
    reactor("ensure", "file", path, "--content", "1")
    assert reactor(*restart, f"file#{path}").out.endswith("  ok\n")
    assert log.read_text() == "restarted\n"
    reactor("ensure", "file", path, "--content", "2")
    reactor(*restart, f"file#{path}")
    assert log.read_text() == "restarted\n" * 2


def test_a_refresh_is_pending_until_it_has_succeeded(reactor, session, tmp_path):
    path, ready, log = tmp_path / "conf", tmp_path / "ready", tmp_path / "log"
    command = f"test -e {ready} && echo restarted >> {log}"
    restart = [
        "ensure",
        "exec",
        command,
        "--provider",
        "shell",
        "--refreshonly",
        "--subscribe",
        f"file#{path}",
    ]
    reactor("ensure", "file", path, "--content", "1")
    assert reactor(*restart).code == 1
    ready.touch()
    assert reactor(*restart).code == 0
    assert log.read_text() == "restarted\n"


def test_a_change_that_was_unhealthy_at_first_refreshes_who_subscribes_to_it(reactor, session, tmp_path):
    path, good = tmp_path / "conf", tmp_path / "good"
    conf = ["ensure", "file", path, "--content", "1", "--check", f"test -e {good}", "--check-tries", "1"]
    assert reactor(*conf).code == 1
    good.touch()
    assert reactor(*conf).out.endswith("  ok\n")
    restart = ["ensure", "exec", "true", "--refreshonly", "--subscribe", f"file#{path}"]
    assert "executed via subscribe" in reactor(*restart).out
    assert reactor(*restart).out.endswith("  ok\n")


def test_a_user_who_requires_what_failed_is_blocked_and_names_the_root(reactor, session, tmp_path):
    assert reactor("ensure", "exec", "false", "--alias", "broken").code == 1
    first = reactor("ensure", "exec", f"touch {tmp_path}/a", "--require", "exec#broken", "--alias", "a")
    assert (first.code, "blocked  by exec#false" in first.out) == (1, True)
    second = reactor("ensure", "exec", f"touch {tmp_path}/b", "--require", "exec#a", "--detailed-exitcodes")
    assert (second.code, "blocked  by exec#false" in second.out) == (4, True)
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


def test_what_was_repaired_blocks_no_more(reactor, session, tmp_path):
    command = f"test -e {tmp_path}/ready"
    reactor("ensure", "exec", command)
    (tmp_path / "ready").touch()
    reactor("ensure", "exec", command)
    assert reactor("ensure", "exec", "true", "--require", f"exec#{command}").code == 0


def test_what_was_skipped_or_is_fine_can_be_required(reactor, session):
    reactor("ensure", "exec", "true", "--if", "1 == 2", "--alias", "skipped")
    reactor("ensure", "exec", "true", "--creates", "/", "--alias", "fine")
    assert reactor("ensure", "exec", "echo", "--require", "exec#skipped", "--require", "exec#fine").code == 0


def test_an_unknown_name_is_an_error_with_the_nearest(reactor, session, tmp_path):
    reactor("ensure", "exec", "true", "--alias", "reload")
    done = reactor("ensure", "exec", f"touch {tmp_path}/a", "--require", "exec#relaod")
    assert done.code == 2
    assert "this session has no resource exec#relaod" in done.err
    assert "did you mean 'exec#reload'?" in done.err
    assert not (tmp_path / "a").exists()


def test_a_dry_run_refreshes_dry_runs_only(reactor, session, tmp_path):
    path, log = tmp_path / "conf", tmp_path / "log"
    restart = ["ensure", "exec", f"touch {log}", "--refreshonly", "--subscribe", f"file#{path}"]
    reactor("ensure", "file", path, "--content", "1", "--noop")
    assert "Would have executed via subscribe" in reactor(*restart, "--noop").out
    assert reactor(*restart).out.endswith("  ok\n")
    assert not log.exists()


def test_the_report_counts_calls_and_names_what_is_not_as_desired(reactor, session):
    reactor("ensure", "exec", "true")
    reactor("ensure", "exec", "true")
    reactor("ensure", "exec", "true", "--creates", "/", "--alias", "done")
    reactor("ensure", "exec", "false")
    reactor("ensure", "exec", "echo", "--require", "exec#false")
    code, told = report(reactor)
    troubles = told.pop("troubles")
    assert code == 1
    assert {key: value for key, value in told.items() if value} == {
        "total_resources": 5, "unique_resources": 3, "changed_resources": 2, "stable_resources": 1,
        "failed_resources": 1, "skipped_resources": 1, "requirements_unmet_count": 1, "total_errors": 1,
    }  # fmt: skip
    assert troubles == {"exec#false": "exit code 1 is not the accepted 0", "exec#echo": "requires exec#false"}
    text = reactor("session", "report").out
    assert "Session Summary" in text
    assert "  Changed Resources: 2\n" in text
    assert "exec#echo: requires exec#false" in text


def test_an_empty_session_is_all_as_desired(reactor, session):
    code, told = report(reactor)
    assert (code, told["total_resources"]) == (0, 0)


def test_remove_takes_the_session_away_and_nothing_else(reactor, session):
    reactor("ensure", "exec", "true")
    (session / "mine").write_text("kept")
    done = reactor("session", "report", "--remove")
    assert "other files" in done.err
    assert os.listdir(session) == ["mine"]
    (session / "mine").unlink()
    assert reactor("session", "report", "--remove").err == ""
    assert not session.exists()


def test_without_a_session_there_is_nothing_to_report(reactor, tmp_path):
    done = reactor("session", "report")
    assert done.code == 2
    assert "there is no session" in done.err
    assert "there is no session" in reactor("session", "report", "--session", tmp_path / "x").err


def test_a_session_that_others_may_write_to_is_not_believed(reactor, session):
    session.chmod(0o777)
    done = reactor("ensure", "exec", "true")
    assert done.code == 2
    assert "every user can write" in done.err


def test_the_session_is_a_journal_like_any_other(reactor, session):
    reactor("ensure", "exec", "false")
    with closing(sqlite3.connect(session / FILE_NAME)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    assert "exec#false failed" in reactor("why", "exec#false", "--state-dir", session).out
    events = reactor("events", "--state-dir", session).out
    assert "exit code 1 is not the accepted 0" in events


def test_a_broken_journal_is_reported(reactor, session):
    (session / FILE_NAME).write_text("no database" * 1000)
    done = reactor("session", "report")
    assert done.code == 2
    assert "can't be used" in done.err


def test_calls_at_the_same_time_are_all_written_down(reactor, session):
    program = [sys.executable, "-m", "reactor", "ensure", "exec"]
    running = [
        subprocess.Popen([*program, f"echo {n}"], env=environment(), stdout=subprocess.DEVNULL)
        for n in range(3)
    ]
    assert [process.wait(timeout=120) for process in running] == [0] * 3
    assert report(reactor)[1]["unique_resources"] == 3


def test_a_script_uses_it_as_the_help_says(reactor, tmp_path):
    program = tmp_path / "reactor"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m reactor "$@"\n')
    program.chmod(0o755)
    script = reactor("session", "--help").out.partition("In a script:")[2].partition("Options:")[0]
    script = script.replace("/tmp/", f"{tmp_path}/")
    done = subprocess.run(
        ["sh", "-e", "-c", script], env=environment(PATH=f"{tmp_path}:{os.environ['PATH']}", TMPDIR=str(tmp_path)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "executed via subscribe" in done.stdout
    assert (tmp_path / "app.conf").read_text() == "port=80"
    assert not list(tmp_path.glob("reactor-session-*"))
