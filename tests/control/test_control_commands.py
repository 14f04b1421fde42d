"""``status``, ``pause`` and ``resume`` on a converger that is a process of its own."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest
from click.testing import CliRunner
from files_of_cli import put
from processes_of_cli import environment, finish, spawned, wait_until

from reactor.cli.group import reactor as command

NO_TEXT = os.fsdecode(b"file#/\xff")
FILES = """
resources:
  - file:
      - {dir}/a: { ensure: present, content: x, {own} }
      - {dir}/b: { ensure: present, content: x, {own} }
"""
TROUBLE = """
resources:
  - exec:
      - fail: { command: "false", meta: { delay: 1h } }
      - low: { command: "true", require: "exec#fail" }
      - fine: { command: "true" }
"""


def call(*args, **variables):
    """The client is in this process, through the real option parser; the run that it asks is another one."""
    told = CliRunner().invoke(command, [*map(str, args)], prog_name="reactor", env=variables)
    return told.exit_code, told.stdout, told.stderr


@pytest.fixture
def run_once(reactor):
    """A run that is over when others ask about it: it is in this process."""

    def once(*args):
        done = reactor("run", "--converge-once", *args)
        return done.code, done.out, done.err

    return once


def status(*args):
    _, out, err = call("status", "--format", "json", *args)
    assert out, err
    return json.loads(out)


def converged(*args):
    return wait_until(lambda: call("status", *args)[0] == 0)


def stuck():
    """Wait until the run of TROUBLE has done all that it can."""
    return wait_until(
        lambda: (told := status())["run"] and told["counts"]["blocked"] == told["counts"]["changed"] == 1
    )


def test_a_paused_file_that_drifts_is_repaired_at_resume_and_not_before(manifest, tmp_path, run_once):
    path = manifest(FILES)
    assert run_once(path)[0] == 0
    with spawned("run", path):
        converged()
        code, out, err = call("pause", f"file#{tmp_path}/a", "--for", "2h", "--reason", "ask Ada")
        assert (code, err) == (0, "")
        assert out.startswith(f"file#{tmp_path}/a  paused  until ")
        (tmp_path / "a").write_text("drift")
        (tmp_path / "b").write_text("drift")
        wait_until(lambda: (tmp_path / "b").read_text() == "x")
        wait_until(lambda: status()["run"]["in_motion"] == 1)
        assert (tmp_path / "a").read_text() == "drift"
        code, out, _ = call("status")
        assert code == 1
        assert f"file#{tmp_path}/a  ok  for " in out
        assert re.search(r"paused since \d{4}-\d\d-\d\d .*, until \d{4}-\d\d-\d\d .*: ask Ada\n", out)
        assert "a check is pending until the pause is over; something has changed it since\n" in out
        assert status(f"file#{tmp_path}/a")["resources"][0]["pending"] == ["drift"]
        assert f"{tmp_path}/b" not in out
        assert call("resume") == (0, f"file#{tmp_path}/a  resumed\n", "")
        wait_until(lambda: (tmp_path / "a").read_text() == "x")
        converged()


@pytest.mark.parametrize("named", [(), ("file#*/a",)])
def test_the_status_is_not_0_while_the_manifest_is_rejected(manifest, named):
    path = manifest(FILES)
    valid = path.read_text()
    with spawned("run", path):
        converged(*named)
        put(path, "resources: nonsense\n")
        wait_until(lambda: status()["run"]["rejected"])
        code, out, _ = call("status", *named)
        assert (code, "rejected" in out) == (1, True)
        put(path, valid)
        converged(*named)


def test_the_status_says_how_to_have_a_manifest_trusted_again(manifest):
    path = manifest(FILES)
    with spawned("run", path):
        converged()
        path.chmod(0o666)
        path.write_text(path.read_text() + "# edited\n")
        wait_until(lambda: status()["run"]["rejected"])
        code, out, _ = call("status")
        assert (code, f"chmod o-w {path}" in out) == (1, True)
        assert f"{path}: the manifest {path}" not in out, "the path is not said twice in a row"
        path.chmod(0o644)
        wait_until(lambda: not status()["run"]["rejected"])


def test_a_pause_survives_kill_9_and_a_restart(manifest, tmp_path):
    path = manifest(FILES)
    with spawned("run", path) as process:
        converged()
        assert call("pause", "file#*/a", "--for", "2h", "--reason", "ask Ada")[0] == 0
        process.kill()
    assert call("status")[0] == 2
    (tmp_path / "a").write_text("drift")
    (tmp_path / "b").write_text("drift")
    with spawned("run", path) as process:
        wait_until(lambda: (tmp_path / "b").read_text() == "x")
        assert f"file#{tmp_path}/a  paused  until " in process.stdout.readline().decode()
        (one,) = status("file#*/a")["resources"]
        assert one["paused"]["reason"] == "ask Ada"
        assert (tmp_path / "a").read_text() == "drift"
        call("resume")
        wait_until(lambda: (tmp_path / "a").read_text() == "x")


def test_a_pause_without_a_run_holds_for_the_next_also_if_that_is_one_shot(manifest, tmp_path, run_once):
    path = manifest(FILES)
    code, out, err = call("pause", "file#*/a", "--for", "1h", "--reason", "x")
    assert (code, out) == (0, "")
    assert "file#*/a is paused for the next one" in err
    code, out, _ = run_once(path)
    assert code == 1
    assert f"file#{tmp_path}/a  paused  until " in out
    assert "skipped  1: it is paused\n" in out
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()
    assert call("resume") == (0, "file#*/a  resumed\n", "")
    assert run_once(path)[0] == 0
    assert (tmp_path / "a").exists()


def test_a_pause_without_a_run_of_a_name_no_one_has_holds_and_leads_to_the_nearest(manifest, tmp_path):
    with spawned("run", "--converge-once", manifest(FILES)) as process:
        assert finish(process).code == 0
    for name, is_known in ((f"file#{tmp_path}/a", True), ("*", True), (f"file#{tmp_path}/aa", False)):
        code, _, err = call("pause", name, "--for", "1h", "--reason", "x")
        assert code == 0
        assert f"{name} is paused for the next one" in err
        assert (f"did you mean 'file#{tmp_path}/a'?" in err) is not is_known


def test_programs_get_pauses_and_their_ends_as_json(manifest, tmp_path):
    pause = ("pause", f"file#{tmp_path}/a", "--for", "1h", "--reason", "why not", "--format", "json")
    with spawned("run", manifest(FILES)):
        converged()
        paused = json.loads(call(*pause)[1])
        assert paused["paused"] == [f"file#{tmp_path}/a"]
        assert time.time() + 3500 < paused["until"] < time.time() + 3700
        assert json.loads(call("resume", "--format", "json")[1]) == {"resumed": [f"file#{tmp_path}/a"]}
        assert call("resume", "--format", "json") == (0, '{"resumed":[]}\n', "")


def test_a_pause_ends_by_itself(manifest, tmp_path):
    with spawned("run", manifest(FILES)) as process:
        converged()
        call("pause", "file#*/a", "--for", "300ms", "--reason", "x")
        (tmp_path / "a").write_text("drift")
        wait_until(lambda: (tmp_path / "a").read_text() == "x")
        process.send_signal(signal.SIGTERM)
        said = finish(process).out
    assert said.index("paused  until") < said.index("resumed") < said.index("updated the content")


def test_status_shows_problems_first_and_says_it_with_its_exit_code(manifest):
    with spawned("run", manifest(TROUBLE)):
        stuck()
        code, out, err = call("status")
        assert (code, err) == (1, "")
        lines = out.splitlines()
        assert lines[0].startswith(str(manifest(TROUBLE)))
        assert lines[1].startswith("exec#fail  failed  for ")
        assert "retry in " in lines[1]
        assert lines[-2].startswith("exec#low  blocked  by exec#fail; for ")
        assert "failed 1  blocked 1  (not converged, 1 change)" in lines[-1]
        assert "exec#fine" not in out
        assert "exec#fine  changed  for " in call("status", "--all")[1]
        assert [record["ref"] for record in status("--failed")["resources"]] == ["exec#fail", "exec#low"]
        assert call("status", "exec#fine")[0] == 0
        assert call("status", "exec#l*")[0] == 1


def test_a_stopped_run_is_reported_from_the_journal_and_is_no_run(manifest):
    with spawned("run", manifest(TROUBLE)) as process:
        stuck()
        process.send_signal(signal.SIGTERM)
        finish(process)
    code, out, err = call("status")
    assert code == 1
    assert err.startswith("no run is active on ")
    assert out.startswith("at the end of the last run, ")
    assert "exec#fail  failed  at " in out
    assert "exec#low  blocked  by exec#fail; at " in out
    told = status("--all")
    assert told["run"] is None
    assert {record["ref"] for record in told["resources"]} >= {"exec#fail", "exec#low", "exec#fine"}


def test_a_run_that_was_killed_is_the_last_run(manifest, run_once):
    path = manifest(FILES)
    assert run_once(path)[0] == 0
    with spawned("run", path) as process:
        wait_until(lambda: "  watching  " in call("events")[1])
        process.kill()
        process.wait()
    said = call("status")[1].splitlines()
    assert re.fullmatch(r"at the end of the last run, \d\d:\d\d:\d\d \(killed: it recorded no end\)", said[0])
    assert said[1:] == ["ok 2"], "what was changed by the run before is as desired"


def test_where_nothing_ever_ran_status_says_so(state_directory):
    assert call("status") == (2, "", f"no run is active on {state_directory}\n")
    assert status() == {"run": None, "resources": []}
    assert call("resume") == (0, "", "nothing was paused\n")
    assert not state_directory.exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("pause", "--reason", "x"), "--for"),
        (("pause", "--for", "2h"), "--reason"),
        (("pause", "--for", "2h", "--reason", " "), "the reason must not be empty"),
        (("pause", "--for", "0", "--reason", "x"), "a pause must be above 0"),
        (("pause", "--for", "8785h", "--reason", "x"), "at most a year"),
        (("pause", "--for", "2", "--reason", "x"), "write it as 500ms, 30s, 5m or 1h30m"),
        (("status", "--format", "xml"), "xml"),
        (("status", NO_TEXT), "not valid UTF-8"),
        (("why", NO_TEXT), "not valid UTF-8"),
        (("events", "--ref", NO_TEXT), "not valid UTF-8"),
        (("pause", NO_TEXT, "--for", "2h", "--reason", "x"), "not valid UTF-8"),
        (("pause", "--for", "2h", "--reason", NO_TEXT), "not valid UTF-8"),
        (("resume", NO_TEXT), "not valid UTF-8"),
    ],
)
def test_bad_usage_is_reported_and_ends_with_2(args, words):
    code, out, err = call(*args)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize("words", [("pause", "--for", "1h", "--reason", "x"), ("resume",)])
@pytest.mark.parametrize("runs", [True, False])
def test_pauses_that_can_not_be_kept_are_reported_alike_with_and_without_a_run(
    manifest, state_directory, words, runs
):
    state_directory.mkdir(mode=0o700)
    (state_directory / "pauses.lock").mkdir()
    with spawned("run", manifest(FILES)) if runs else nullcontext():
        if runs:
            converged()
        code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert err == (
        f"error[R0606]: the system refused: [Errno 21] Is a directory: '{state_directory}/pauses.lock'\n"
        "hint: check whether the state directory is writable\n"
    )


@pytest.mark.parametrize("words", [("pause", "--for", "1h", "--reason", "x"), ("resume",)])
def test_nothing_is_written_through_a_link_in_a_state_directory_of_others(state_directory, tmp_path, words):
    state_directory.mkdir()
    state_directory.chmod(0o777)
    (state_directory / "pauses.lock").symlink_to(tmp_path / "victim")
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert f"the state directory {state_directory}" in err
    assert not (tmp_path / "victim").exists()
    assert [*state_directory.iterdir()] == [state_directory / "pauses.lock"]


def test_a_name_no_one_has_is_answered_with_the_nearest(manifest, tmp_path):
    with spawned("run", manifest(FILES)):
        converged()
        for args in [("status",), ("resume",), ("pause", "--for", "1h", "--reason", "x")]:
            code, out, err = call(args[0], f"file#{tmp_path}/c", *args[1:])
            assert (code, out) == (2, "")
            assert f"error[R0605]: no resource matches file#{tmp_path}/c\nhint: did you mean " in err


def test_what_the_last_run_found_as_desired_is_ok_whoever_had_changed_it_before(manifest):
    path = manifest(FILES)
    for said, counts in (("ok 0  changed 2 ", "ok 0  changed 2"), ("ok 2  changed 0 ", "ok 2")):
        with spawned("run", "--converge-once", path) as process:
            assert finish(process).out.splitlines()[-1].startswith(said)
        assert call("status")[1].splitlines()[-1] == counts


def test_without_a_run_status_is_about_those_in_the_manifest_of_the_last(manifest, run_once):
    assert run_once(manifest(ALIASES))[0] == 1
    assert run_once(manifest('resources: [{exec: [{"true": {}}]}]'))[0] == 0
    assert call("status")[1].splitlines()[1:] == ["ok 0  changed 1"]
    assert [each["ref"] for each in status("--all")["resources"]] == ["exec#true"]
    code, out, err = call("status", "exec#false")
    assert (code, out) == (2, "")
    assert "hint: it was not part of the last run; see 'reactor why exec#false'" in err
    told = call("why", "exec#false")[1].splitlines()
    assert told[0].startswith("exec#false was not part of the last run: ")
    assert told[1].startswith("exec#false failed ")
    assert "exec#false" in call("events", "--failed")[1]


UNDONE = """
resources:
  - file:
      - {dir}/d: { ensure: directory, {own}, meta: { reverse: true } }
"""


def test_without_a_run_what_could_not_be_undone_is_reported_until_it_is(manifest, tmp_path, run_once):
    run_once(manifest(UNDONE))
    (tmp_path / "d" / "of somebody").touch()
    for _ in range(2):
        assert run_once(manifest("resources: []"))[0] == 1
        assert [each["state"] for each in status("--all")["resources"]] == ["failed"]
    (tmp_path / "d" / "of somebody").unlink()
    assert run_once(manifest("resources: []"))[0] == 0
    assert status("--all")["resources"] == []


def test_a_one_shot_run_opens_no_socket_and_imports_no_server(manifest, state_directory):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "reactor", "run", "--converge-once", manifest(FILES)],
        capture_output=True, text=True, env=environment(), check=True,
    )  # fmt: skip
    assert "h11" not in done.stderr
    assert "starlette" not in done.stderr
    assert not (state_directory / "control.sock").exists()


def test_status_starts_without_what_a_run_needs():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "reactor", "status"],
        capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert {"trio", "networkx", "pydantic", "yaml", "rich", "h11", "asyncio"} & imported == set()


def test_the_socket_of_a_run_is_private_also_under_a_loose_umask(manifest, state_directory):
    with spawned("run", manifest(FILES), preexec_fn=lambda: os.umask(0)) as process:
        converged()
        assert stat.S_IMODE((state_directory / "control.sock").stat().st_mode) == 0o600
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 0
    assert not (state_directory / "control.sock").exists()


def test_a_second_run_leaves_the_socket_of_the_first_alone(manifest):
    path = manifest(FILES)
    with spawned("run", path) as process:
        converged()
        assert call("run", path)[0] != 0
        assert status()["run"]["pid"] == process.pid


@pytest.mark.parametrize(
    ("paused", "resumed"),
    [
        (["exec#a", "exec#b"], "exec#b"),
        (["exec#a", "exec#a[b]"], "exec#a[b]"),
        (["*"], "exec#b"),
    ],
)
def test_without_a_run_a_pause_that_is_taken_back_is_named_whatever_else_is_paused(paused, resumed):
    for each in paused:
        assert call("pause", each, "--for", "1h", "--reason", "x")[0] == 0
    assert call("resume", resumed) == (0, f"{resumed}  resumed\n", "")
    assert call("resume", resumed) == (0, "", "nothing was paused\n")


def test_a_name_with_control_characters_does_nothing_to_the_terminal(manifest):
    with spawned("run", manifest('resources: [{exec: [{"a\\n\\e[31m": {command: "true"}}]}]')):
        converged()
        _, out, _ = call("pause", "--for", "1h", "--reason", "x")
        assert out.startswith("exec#a\\x0a\\x1b[31m  paused")
        assert call("resume") == (0, "exec#a\\x0a\\x1b[31m  resumed\n", "")


ALIASES = """
resources:
  - exec:
      - "true": { alias: calm }
      - "false": { alias: wild }
"""


def test_an_alias_is_understood_by_all_that_ask_the_journal(manifest, run_once):
    assert run_once(manifest(ALIASES))[0] == 1
    assert "exec#false failed" in call("why", "exec#wild")[1]
    assert "exec#false" in call("events", "--ref", "exec#wild")[1]
    assert [each["ref"] for each in status("exec#wild")["resources"]] == ["exec#false"]
    call("pause", "exec#wild", "--for", "1h", "--reason", "why not")
    assert status("exec#wild")["resources"][0]["paused"]["reason"] == "why not"


@pytest.mark.parametrize("asked", [("exec#wil",), ("exec#wil", "--format", "json")])
def test_status_of_a_name_no_one_has_is_as_wrong_without_a_run_as_with_one(manifest, asked, run_once):
    run_once(manifest(ALIASES))
    code, out, err = call("status", *asked)
    assert (code, out) == (2, "")
    assert "error[R0605]: no resource matches exec#wil\nhint: did you mean 'exec#wild'?" in err


@pytest.mark.parametrize(
    ("asked", "code"),
    [((), 1), (("--failed",), 1), (("exec#false",), 1), (("exec#*",), 1), (("exec#true",), 2)],
)
def test_what_the_last_run_left_failed_ends_with_1_as_that_run_did(manifest, asked, code, run_once):
    assert run_once(manifest(ALIASES))[0] == 1
    assert call("status", *asked)[0] == code


def test_that_the_last_run_left_all_as_desired_is_not_known_to_be_so_now(manifest, run_once):
    assert run_once(manifest('resources: [{exec: [{"true": {}}]}]'))[0] == 0
    assert call("status")[0] == 2


@pytest.mark.parametrize("asked", [("why", "exec#true"), ("status",)])
def test_a_user_who_only_asks_the_journal_leaves_nothing_beside_it(
    manifest, state_directory, asked, run_once
):
    run_once(manifest(ALIASES))
    before = sorted(state_directory.iterdir())
    assert "exec#" in call(*asked)[1]
    assert sorted(state_directory.iterdir()) == before


@pytest.mark.parametrize("words", [("why",), ("events", "--ref")])
def test_a_name_that_the_journal_does_not_know_leads_to_the_nearest(manifest, words, run_once):
    run_once(manifest(ALIASES))
    _, out, err = call(*words, "exec#wil")
    assert "the journal has no resource exec#wil" in err
    assert "did you mean 'exec#wild'?" in err
    assert "exec#" not in out
