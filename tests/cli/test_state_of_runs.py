"""`reactor run` with its state directory, and the commands that read it, as processes and through the real parser."""

import fcntl
import json
import os
import re
import resource
import signal
import socket
import time

import pytest
from journal_worlds import fold
from processes_of_cli import environment, finish, spawned, wait_until, with_constant

from reactor.journal.state_directory import StateDirectory, holder

TWO = """
resources:
  - file:
      - {dir}/a: { ensure: present, content: new, {own} }
  - exec:
      - restart: { command: "touch {dir}/restarted", refreshonly: true, subscribe: "file#{dir}/a" }
"""
FAILING_REFRESH = TWO.replace("touch {dir}/restarted", "test -e {dir}/permission")
FILE = "resources: [{file: [{dir}/a: { ensure: present, content: new, {own} }]}]\n"
BLOCKED = """
resources:
  - exec:
      - migrate: { command: "false" }
  - file:
      - {dir}/a: { ensure: present, content: new, require: exec#migrate, {own} }
"""


def once(reactor, path, *options):
    return reactor("run", "--converge-once", *options, path)


def journal_files(directory):
    """What they hold. The third, with the suffix -shm, is shared memory: whoever reads first makes it anew."""
    return [(directory / f"journal.sqlite{suffix}").read_bytes() for suffix in ("", "-wal")]


def test_a_refresh_that_failed_is_pending_in_the_next_run_and_made_once(reactor, manifest, tmp_path):
    path = manifest(FAILING_REFRESH)
    assert once(reactor, path).code == 1
    assert once(reactor, path).code == 1
    (tmp_path / "permission").touch()
    done = once(reactor, path)
    assert done.code == 0
    assert "exec#restart  changed" in done.out
    assert "exec#restart" not in once(reactor, path).out


def test_a_refresh_is_pending_for_what_left_the_manifest_and_comes_back(reactor, manifest, tmp_path):
    path = manifest(FAILING_REFRESH)
    assert once(reactor, path).code == 1
    manifest(FAILING_REFRESH.partition("  - exec:")[0])
    assert once(reactor, path).code == 0
    (tmp_path / "permission").touch()
    manifest(FAILING_REFRESH)
    assert "exec#restart  changed  executed via subscribe" in once(reactor, path).out


@pytest.mark.parametrize("part", [("--only", "file#*"), ("--exclude", "exec#*")])
def test_a_user_who_is_left_out_of_a_run_is_refreshed_by_the_next_that_has_it(
    reactor, manifest, tmp_path, part
):
    path = manifest(TWO)
    assert "selected 1 of 2" in once(reactor, path, *part).out
    assert not (tmp_path / "restarted").exists()
    done = once(reactor, path)
    assert "exec#restart  changed  executed via subscribe" in done.out
    assert (tmp_path / "restarted").exists()
    assert "exec#restart" not in once(reactor, path).out


def test_scenario_15_a_refresh_survives_a_kill_between_the_change_and_the_refresh(
    reactor, manifest, tmp_path
):
    """The refresh kills its own run before it has done anything; the next one finds the file as desired."""
    suicide = 'sh -c "test -e {dir}/alive || kill -9 $PPID"'
    path = manifest(TWO.replace('"touch {dir}/restarted"', f"{suicide!r}"))
    with spawned("run", "--converge-once", path) as process:
        assert finish(process).code == -signal.SIGKILL
    assert (tmp_path / "a").read_text() == "new"
    (tmp_path / "alive").touch()
    done = once(reactor, path)
    assert done.code == 0
    assert "exec#restart  changed" in done.out
    assert f"file#{tmp_path}/a" not in done.out
    assert "exec#restart" not in once(reactor, path).out


def test_noop_leaves_no_state(reactor, manifest, state_directory):
    assert once(reactor, manifest(TWO), "--noop").code == 0
    assert not state_directory.exists()


def test_noop_reports_a_refresh_that_is_pending_and_does_not_make_it(
    reactor, manifest, tmp_path, state_directory
):
    path = manifest(FAILING_REFRESH)
    assert once(reactor, path).code == 1
    (tmp_path / "permission").touch()
    before = journal_files(state_directory)
    done = once(reactor, path, "--noop", "--detailed-exitcodes")
    assert done.code == 2
    assert "exec#restart  would change  Would have executed via subscribe" in done.out
    assert f"file#{tmp_path}/a" not in done.out
    assert journal_files(state_directory) == before
    assert "exec#restart  changed" in once(reactor, path).out
    assert "exec#restart" not in once(reactor, path, "--noop").out


def test_noop_reports_a_refresh_that_a_run_beside_it_has_pending(reactor, manifest, tmp_path):
    path = manifest(FAILING_REFRESH)
    with spawned("run", path):
        wait_until(lambda: "exec#restart" in reactor("events", "--failed").out)
        done = once(reactor, path, "--noop")
    assert done.code == 0
    assert "exec#restart  would change  Would have executed via subscribe" in done.out


SUICIDE = """
resources:
  - file:
      - {dir}/a: { ensure: present, content: new, {own} }
  - exec:
      - kill: { command: "kill -9 $PPID", provider: shell, creates: "{dir}/alive", require: "file#{dir}/a" }
"""
CHILD_OWES = """
resources:
  - apply:
      - child.yaml: {}
  - exec:
      - tell: { command: "true", refreshonly: true, subscribe: apply#child.yaml }
"""


def test_a_child_manifest_with_a_pending_refresh_of_a_change_only_reports_so_in_noop(
    reactor, manifest, tmp_path
):
    """It is killed between the change of its member and its own check."""
    manifest(SUICIDE, "child.yaml")
    path = manifest(CHILD_OWES)
    with spawned("run", "--converge-once", path) as process:
        assert finish(process).code == -signal.SIGKILL
    (tmp_path / "alive").touch()
    done = once(reactor, path, "--noop")
    assert "apply#child.yaml  would change" in done.out
    assert "exec#tell  would change" in done.out
    assert "changed 0" in done.out
    assert "exec#tell  changed" in once(reactor, path).out


def test_noop_goes_on_without_a_journal_that_can_not_be_read_and_says_so(reactor, manifest, state_directory):
    state_directory.mkdir(mode=0o700)
    (state_directory / "journal.sqlite").write_text("no database")
    done = once(reactor, manifest(TWO), "--noop")
    assert done.code == 0
    assert "pending refreshes of earlier runs are not shown" in done.err
    assert [each.name for each in state_directory.iterdir()] == ["journal.sqlite"]


@pytest.mark.parametrize("options", [(), ("--metrics", "127.0.0.1:{port}")])
def test_the_status_says_that_the_last_run_did_not_begin_until_one_does(
    reactor, manifest, state_directory, options
):
    path = manifest(FILE)
    assert reactor("run", "--converge-once", path).code == 0
    valid = path.read_text()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken_port = [each.format(port=taken.getsockname()[1]) for each in options]
        if not options:
            path.write_text("resources: nonsense\n")
        assert reactor("run", path, *taken_port).code == 2
    told = reactor("status")
    first, problem, before, counts = told.out.splitlines()
    assert told.code == 1
    assert re.fullmatch(rf"last run of {path}  rejected  at \d\d:\d\d:\d\d: it did not begin", first)
    assert ("can't listen on" if options else f"{path}:1:12: ") in problem
    assert before.startswith("at the end of the run before, ")
    assert "ok 0  changed 1" in counts
    assert json.loads(reactor("status", "--format", "json").out)["refused"]["problems"] == [problem.strip()]
    path.write_text(valid)
    assert once(reactor, path, "--noop").code == 0
    assert reactor("status").code == 1, "a dry run is no run"
    assert reactor("run", "--converge-once", path).code == 0
    assert "rejected" not in reactor("status").out


def test_a_run_that_did_not_begin_beside_an_active_one_is_not_the_last(reactor, manifest, state_directory):
    assert reactor("run", "--converge-once", manifest(FILE)).code == 0
    directory = StateDirectory(str(state_directory))
    directory.lock("site.yaml")
    assert reactor("run", "--converge-once", manifest("resources: nonsense\n", "bad.yaml")).code == 2
    directory.release()
    assert "rejected" not in reactor("status").out


def test_a_first_run_that_did_not_begin_leaves_nothing(reactor, manifest, state_directory):
    assert reactor("run", "--converge-once", manifest("resources: nonsense\n")).code == 2
    assert not state_directory.exists()


def test_two_runs_at_once_are_refused_and_the_first_is_named(reactor, manifest, state_directory, tmp_path):
    path = manifest(TWO)
    with spawned("run", path) as process:
        wait_until((tmp_path / "restarted").exists)
        done = once(reactor, path, "--fact", "role=web")
        assert done.code == 1
        assert f"process {process.pid} (reactor run {path}, since" in done.err
        assert "--state-dir" in done.err
        assert once(reactor, path, "--noop").code == 0
        assert once(reactor, path, "--state-dir", tmp_path / "another").code == 0
        process.send_signal(signal.SIGINT)
        assert finish(process).code == 0
    assert holder(str(state_directory)) is None


HANGING = """
resources:
  - exec:
      - hang:
          command: "true"
          health_checks: [ { command: "/bin/sh -c 'touch {dir}/started; sleep 300'" } ]
      - later: { command: "true", require: "exec#hang" }
"""


def test_what_is_being_checked_is_told_from_what_waits_for_it(reactor, manifest, tmp_path):
    with spawned("run", manifest(HANGING)):
        wait_until((tmp_path / "started").exists)
        text = reactor("status").out
    assert "exec#hang  unknown  not checked yet; a check is running\n" in text
    assert "exec#later  unknown  not checked yet; has work to do\n" in text


def test_a_journal_that_can_not_be_written_is_in_the_status(reactor, manifest, tmp_path):
    soon = with_constant("reactor.journal.writer", "RETRY_INTERVAL", 0.01)
    with spawned("run", manifest(TWO), program=soon) as process:
        wait_until(lambda: reactor("status").code == 0)
        assert "not written" not in reactor("status").out
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))  # no file may grow
        (tmp_path / "a").chmod(0o600)
        wait_until(lambda: "journal  not written  " in reactor("status").out)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
        wait_until(lambda: "not written" not in reactor("status").out)


QUICK_LOOKS = with_constant("reactor.cli.running.state_guard", "CHECK_INTERVAL", 0.05)


def test_a_state_directory_that_is_removed_under_a_run_is_made_again(
    reactor, manifest, state_directory, tmp_path
):
    path = manifest(TWO)
    with spawned("run", path, program=QUICK_LOOKS) as process:
        # By then, the journal that is removed has everything that happened.
        wait_until(lambda: "exec#restart" in reactor("events").out)
        wait_until(lambda: reactor("status").code == 0)
        state_directory.rename(tmp_path / "removed")
        wait_until(lambda: reactor("status").code == 0)
        assert f"process {process.pid}" in once(reactor, path, "--fact", "role=web").err
        wait_until(lambda: "is as desired" in reactor("why", f"file#{tmp_path}/a").out)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == 0
    lost = "lock, journal.sqlite, control.sock"
    assert f"{lost} was removed from the state directory {state_directory}" in done.err


@pytest.mark.parametrize("removed", ["", "pauses.json"])
def test_pauses_that_are_removed_under_a_run_hold_for_the_next_one_too(
    reactor, manifest, state_directory, tmp_path, removed
):
    with spawned("run", manifest(TWO), program=QUICK_LOOKS) as process:
        wait_until(lambda: reactor("status").code == 0)
        assert reactor("pause", "--for", "2h", "--reason", "an experiment").code == 0
        assert reactor("resume", "exec#restart").code == 0
        (state_directory / removed).rename(tmp_path / "removed")
        assert b"pauses.json was removed from the state directory" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert finish(process).code == 0
    told = json.loads(reactor("status", "--all", "--format", "json").out)["resources"]
    assert {each["ref"]: bool(each["paused"]) for each in told} == {
        "exec#restart": False,
        f"file#{tmp_path}/a": True,
    }


def test_a_pause_that_is_asked_for_while_the_state_directory_is_gone_holds_beside_the_others(
    reactor, manifest, state_directory, tmp_path
):
    slow_looks = with_constant("reactor.cli.running.state_guard", "CHECK_INTERVAL", 1.0)
    with spawned("run", manifest(TWO), program=slow_looks) as process:
        wait_until(lambda: reactor("status").code == 0)
        reactor("pause", "file#*", "--for", "2h", "--reason", "an experiment")
        state_directory.rename(tmp_path / "removed")
        reactor("pause", "exec#restart", "--for", "2h", "--reason", "another one")
        wait_until(lambda: b"restored from this run" in process.stderr.readline())
        wait_until(lambda: "paused" in reactor("status", "exec#restart").out)
        assert "paused" in reactor("status", f"file#{tmp_path}/a").out
        pauses = (state_directory / "pauses.json").read_text()
    assert "an experiment" in pauses
    assert "another one" in pauses


def test_a_state_directory_that_another_run_has_is_left_to_it_until_its_end(reactor, manifest, tmp_path):
    path, place = manifest(TWO), tmp_path / "place"
    place.symlink_to(tmp_path / "ours")
    (tmp_path / "ours").mkdir(mode=0o700)

    def pid_there():
        return reactor("status", "--state-dir", place).out.partition("pid ")[2].split(" ")[0]

    with (
        spawned("run", "--state-dir", place, path, program=QUICK_LOOKS) as process,
        spawned("run", "--state-dir", tmp_path / "other", path) as other,
    ):
        wait_until(lambda: pid_there() == str(process.pid))
        wait_until((tmp_path / "other/control.sock").exists)
        (tmp_path / "new").symlink_to(tmp_path / "other")
        (tmp_path / "new").rename(place)
        assert b"can't be restored" in process.stderr.readline()
        assert pid_there() == str(other.pid)
        other.send_signal(signal.SIGINT)
        assert finish(other).code == 0
        assert b"is restored from this run" in process.stderr.readline()
        wait_until(lambda: pid_there() == str(process.pid))


@pytest.mark.parametrize(("detailed", "code"), [((), 2), (("--detailed-exitcodes",), 1)])
def test_a_chosen_place_that_is_unusable_is_an_error(reactor, manifest, tmp_path, detailed, code):
    (tmp_path / "file").touch()
    done = once(reactor, manifest(TWO), "--state-dir", tmp_path / "file" / "x", *detailed)
    assert done.code == code
    assert "hint: " in done.err
    assert not (tmp_path / "a").exists()


def test_a_default_place_that_is_unusable_is_reported_and_the_run_goes_on(
    reactor, manifest, tmp_path, monkeypatch
):
    monkeypatch.delenv("REACTOR_STATE_DIR")
    monkeypatch.setattr("reactor.journal.state_directory.SYSTEM_DIRECTORY", str(tmp_path / "file" / "x"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").touch()
    done = once(reactor, manifest(TWO))
    assert done.code == 0
    assert "the run goes on, but forgets" in done.err
    assert (tmp_path / "restarted").exists()


def test_programs_get_warnings_as_records(reactor, manifest, state_directory):
    path = manifest(TWO)
    once(reactor, path)
    fold(state_directory)
    (state_directory / "journal.sqlite").write_text("no journal\n" * 100)
    done = once(reactor, path, "--format", "json")
    warnings = [json.loads(line) for line in done.out.splitlines() if '"event":"warning"' in line]
    assert "it was moved to" in warnings[0]["text"]
    assert all("refresh" in warning["text"] for warning in warnings[1:])
    assert done.code == 0


@pytest.mark.parametrize(
    "resource",
    [
        "{state}/journal.sqlite: { ensure: present, content: x, {own} }",
        "{state}: { ensure: directory, {own} }",
        "{dir}/up: { ensure: absent, force: true }",
    ],
)
def test_a_manifest_that_manages_the_state_directory_is_an_error(reactor, manifest, tmp_path, resource):
    state = tmp_path / "up" / "state"
    path = manifest(f"resources:\n  - file:\n      - {resource.replace('{state}', str(state))}\n")
    done = once(reactor, path, "--state-dir", state)
    assert done.code == 2
    assert "manages the state directory of reactor itself" in done.err
    assert f"{path}:3:" in done.err
    assert not state.exists()


def test_events_are_plain_lines_in_a_pipe(reactor, manifest, tmp_path):
    once(reactor, manifest(TWO))
    first, second, _ended = reactor("events").out.splitlines()
    assert f"  changed  file#{tmp_path}/a  created the file (initial, " in first
    assert "  changed  exec#restart  executed via subscribe (" in second


def test_events_can_be_chosen(reactor, manifest):
    once(reactor, manifest(BLOCKED))
    assert "exec#migrate" in reactor("events", "--failed", "--ref", "exec#*").out
    assert reactor("events", "--since", "2999-01-01").out == ""
    assert len(reactor("events", "--since", "1 hour ago", "--until", "now").out.splitlines()) == 3
    assert reactor("events", "--until", "1h").out == ""


@pytest.mark.parametrize(
    "options", [("--since", "soon"), ("--since", "1h", "--until", "2h"), ("--follow", "--until", "now")]
)
def test_events_of_no_time_are_refused(reactor, manifest, options):
    once(reactor, manifest(BLOCKED))
    done = reactor("events", *options)
    assert (done.code, done.out) == (2, "")


def test_events_for_programs_are_those_of_the_run(reactor, manifest):
    path = manifest(TWO)
    run = once(reactor, path, "--format", "json").records
    kept = reactor("events", "--format", "json").records
    assert [record.pop("id") for record in kept] == [1, 2, 3]
    assert {record.pop("generation") for record in kept} == {1}
    assert kept == [record for record in run if record["event"] != "converged"]


def test_events_of_a_place_where_nothing_ran_say_so(reactor):
    done = reactor("events")
    assert done.code == 1
    assert "nothing has run yet" in done.err


def test_events_are_followed_while_a_run_writes(manifest, tmp_path):
    path = manifest(TWO)
    with spawned("run", path) as run:
        wait_until((tmp_path / "restarted").exists)
        with spawned("events", "--follow", "--since", "1h", env=environment(PYTHONUNBUFFERED="1")) as events:
            while b"exec#restart" not in (line := events.stdout.readline()):
                assert line
            (tmp_path / "a").write_text("spoilt")
            while b"(drift" not in (line := events.stdout.readline()):
                assert line
            events.send_signal(signal.SIGINT)
            assert events.wait() == -signal.SIGINT
        run.send_signal(signal.SIGINT)
        assert finish(run).code == 0


def test_why_reports_the_chain_from_the_source_to_the_refresh(reactor, manifest, tmp_path):
    path = manifest(TWO)
    once(reactor, path)
    (tmp_path / "a").write_text("spoilt")
    once(reactor, path)
    told = reactor("why", "exec#restart").out.splitlines()
    assert told[0].startswith("exec#restart was changed ")
    assert "a resource that it subscribes to had changed" in told[1]
    assert told[2].strip().startswith(f"file#{tmp_path}/a was changed ")
    assert "something outside of reactor had changed it" in told[3]
    assert "It refreshed exec#restart " in reactor("why", f"file#{tmp_path}/a").out


def test_why_does_not_say_that_the_manifest_has_changed_when_an_output_has(reactor, manifest, tmp_path):
    path = manifest(f"""
resources:
  - exec:
      - version: {{command: cat {tmp_path}/version, changes: false}}
  - file:
      - {tmp_path}/a: {{ensure: present, content: "${{ output('exec#version').stdout }}", owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0600"}}
""")
    for version in ("1", "2"):
        (tmp_path / "version").write_text(version)
        once(reactor, path)
    told = reactor("why", f"file#{tmp_path}/a").out
    assert "its entry in the manifest, or what its values come from, had changed" in told


def test_why_names_what_is_pending_and_why_it_is_not_made(reactor, manifest, tmp_path):
    once(reactor, manifest(FAILING_REFRESH))
    told = reactor("why", f"file#{tmp_path}/a").out
    assert "A refresh of exec#restart because of it has been pending" in told
    assert "  exec#restart failed " in told


def test_why_names_the_root_culprit_of_a_blocked_resource(reactor, manifest, tmp_path):
    once(reactor, manifest(BLOCKED))
    told = reactor("why", f"file#{tmp_path}/a").out.splitlines()
    assert " was blocked " in told[0]
    assert told[1].strip().startswith("exec#migrate failed ")


def test_why_shows_what_a_failed_command_said_on_lines_of_their_own(reactor, manifest):
    path = manifest(
        "resources: [{exec: [{migrate: {command: echo two; echo lines; false, provider: shell}}]}]"
    )
    once(reactor, path)
    first, *details = reactor("why", "exec#migrate").out.splitlines()
    assert first.endswith("exit code 1 is not the accepted 0")
    assert details[:2] == ["    two", "    lines"]


@pytest.mark.parametrize("command", [("why", "exec#restart"), ("events",), ("status",), ("status", "--all")])
def test_a_journal_that_is_damaged_inside_is_reported_in_words(
    reactor, manifest, tmp_path, state_directory, command
):
    assert once(reactor, manifest(TWO)).code == 0
    fold(state_directory)
    with (state_directory / "journal.sqlite").open("r+b") as journal:
        journal.seek(8192)
        journal.write(b"\xff" * (os.fstat(journal.fileno()).st_size - 8192))
    done = reactor(*command)
    assert done.code == (2 if command[0] == "status" else 1)
    assert (
        f"can't read the journal {state_directory}/journal.sqlite: database disk image is malformed"
        in done.err
    )


def test_why_of_what_is_fine_and_of_what_is_unknown(reactor, manifest, tmp_path):
    (tmp_path / "a").write_text("new")
    os.chmod(tmp_path / "a", 0o644)
    once(reactor, manifest(TWO))
    said = reactor("why", f"file#{tmp_path}/a").out
    assert "is as desired since " in said
    as_json = json.loads(reactor("why", f"file#{tmp_path}/a", "--format", "json").out)
    assert as_json["ref"] == f"file#{tmp_path}/a"
    assert as_json["why"][0].partition(" since ")[0] == said.partition(" since ")[0]
    done = reactor("why", f"file#{tmp_path}/b")
    assert done.code == 1
    assert f"did you mean 'file#{tmp_path}/a'?" in done.err


def test_why_of_a_path_names_the_file_that_is_meant(reactor, manifest, tmp_path):
    once(reactor, manifest(TWO))
    assert f"hint: did you mean 'file#{tmp_path}/a'?" in reactor("why", f"{tmp_path}/a").err


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("user#nobody-like-it", "'reactor status --all' lists all resources"),
        ("nothing", "a resource is written kind#name"),
    ],
)
def test_why_of_what_is_not_known_says_where_to_look(reactor, manifest, asked, hint):
    once(reactor, manifest(TWO))
    assert reactor("why", asked).err == f"error[R0605]: the journal has no resource {asked}\nhint: {hint}\n"


def test_a_run_removes_what_came_of_downloads_that_no_one_goes_on_with(reactor, manifest, state_directory):
    downloads = state_directory / "downloads"
    downloads.mkdir(parents=True, mode=0o700)
    state_directory.chmod(0o700)
    for name in ("old", "busy", "young"):
        (downloads / name).write_text("half of it")
    for name in ("old", "busy"):
        os.utime(downloads / name, (time.time() - 25 * 3600,) * 2)
    with open(downloads / "busy") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        done = reactor("run", "--converge-once", manifest("resources: []\n"))
    assert done.code == 0, done.err
    assert sorted(os.listdir(downloads)) == ["busy", "young"]
