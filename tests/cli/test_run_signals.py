import json
import os
import signal

import pytest
from processes_of_cli import finish, pids_running, spawned, wait_until, with_constant

STUBBORN = """
resources:
  - exec:
      - hang:
          command: trap '' TERM INT; touch {dir}/started; sleep 300.{mark} & wait; wait
          provider: shell
      - later: { command: "touch {dir}/later", require: "exec#hang" }
"""
SLOW = """
resources:
  - exec:
      - slow: { command: "touch {dir}/started; while [ ! -e {dir}/go ]; do sleep 0.02; done", provider: shell }
      - later: { command: "touch {dir}/later", require: "exec#slow" }
"""
FLAPPING_FOR = "resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n"


@pytest.fixture
def stubborn(manifest):
    """A manifest whose command ignores gentle signals, and the mark of its process."""
    mark = str(os.getpid())
    return manifest(STUBBORN.replace("{mark}", mark)), f"sleep\x00300.{mark}"


def started(tmp_path):
    wait_until((tmp_path / "started").exists)


def said(process, words):
    """Read stderr until it says ``words``."""
    text = ""
    while words not in text:
        line = process.stderr.readline().decode()
        assert line, f"ended without saying {words!r}, but {text!r}"
        text += line
    return text


@pytest.mark.parametrize(("number", "options"), [(signal.SIGINT, ()), (signal.SIGTERM, ())])
def test_the_first_signal_ends_an_idle_continuous_run_with_a_summary_and_0(manifest, number, options):
    with spawned("run", *options, manifest(FLAPPING_FOR)) as process:
        assert b"changed" in process.stdout.readline()
        assert process.stdout.readline().startswith(b"converged  1 resource ")
        process.send_signal(number)
        done = finish(process)
    assert done.code == 0
    assert "(stopped, 1 change in " in done.out
    assert done.err == ""


def test_the_first_interrupt_lets_a_running_check_end_and_starts_none(manifest, tmp_path):
    with spawned("run", "--converge-once", manifest(SLOW)) as process:
        started(tmp_path)
        process.send_signal(signal.SIGINT)
        assert "stopping: waiting for exec#slow; interrupt again to cancel" in said(
            process, "again to cancel"
        )
        (tmp_path / "go").touch()
        done = finish(process)
    assert done.code == 130
    assert "exec#slow  changed" in done.out
    assert "skipped  1: stopped" in done.out
    assert not (tmp_path / "later").exists()


def test_a_continuous_run_stopped_after_a_failure_ends_with_1(manifest):
    with spawned("run", manifest('resources:\n  - exec:\n      - fail: { command: "false" }\n')) as process:
        assert b"failed" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.code == 1


RETRYING = """
resources:
  - exec:
      - fail: { command: "false", meta: { retry: %d, delay: 1h } }
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("options", [(), ("--detailed-exitcodes",), ("--converged-timeout", "7200")])
def test_a_one_shot_run_stopped_before_a_retry_was_cut_short(manifest, options, number, code):
    with spawned("run", "--converge-once", *options, manifest(RETRYING % 1)) as process:
        assert b"failed" in process.stdout.readline()
        process.send_signal(number)
        done = finish(process)
    assert done.code == code
    assert "failed 1  (stopped, 0 changes in " in done.out


def test_a_one_shot_run_whose_last_attempt_fails_after_a_signal_has_failed(manifest, tmp_path):
    with spawned(
        "run", "--converge-once", manifest(SLOW.replace("sleep 0.02; done", "sleep 0.02; done; false"))
    ) as process:
        started(tmp_path)
        process.send_signal(signal.SIGINT)
        said(process, "again to cancel")
        (tmp_path / "go").touch()
        done = finish(process)
    assert done.code == 1
    assert "blocked 1" in done.out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_second_signal_cancels_the_check_and_leaves_no_process(manifest, tmp_path, number, code):
    mark = f"300.{os.getpid()}1"
    path = manifest(
        "resources:\n  - exec:\n"
        f'      - hang: {{ command: "touch {tmp_path}/started; sleep {mark}", provider: shell }}\n'
    )
    with spawned("run", path) as process:
        started(tmp_path)
        process.send_signal(number)
        said(process, "stopping: waiting for exec#hang")
        process.send_signal(number)
        done = finish(process)
    assert done.code == code
    wait_until(lambda: not pids_running(mark))


UNHEALTHY = """
resources:
  - file:
      - {dir}/made:
          ensure: present
          content: x
          owner: root
          group: root
          mode: "0644"
          health_checks: [{{ command: "/bin/sh -c 'touch {dir}/started; sleep 300'", name: slow }}]
"""
ENDLESS = """
resources:
  - exec:
      - hang: {{ command: "touch {dir}/started; sleep 300", provider: shell }}
      - later: {{ command: "touch {dir}/later", require: "exec#hang" }}
"""


@pytest.mark.parametrize(
    ("text", "ref", "line", "counts"),
    [
        (UNHEALTHY, "file#{dir}/made", "failed  after it created the file (initial, ", "changed 0  failed 1"),
        (ENDLESS, "exec#hang", "failed  (initial, ", "changed 0  failed 1  skipped 1"),
    ],
)
def test_what_a_cancelled_check_has_begun_is_in_the_output_and_the_history(tmp_path, text, ref, line, counts):
    (path := tmp_path / "site.yaml").write_text(text.format(dir=tmp_path))
    ref, state = ref.format(dir=tmp_path), f"--state-dir={tmp_path}/state"
    with spawned("run", "--converge-once", state, path) as process:
        started(tmp_path)
        for words in ("stopping: waiting for", "cancelling"):
            process.send_signal(signal.SIGINT)
            said(process, words)
        done = finish(process)
    assert done.code == 130
    assert f"{ref}  {line}" in done.out
    assert "error[R0511]: its check was cancelled after a change had begun" in done.out
    assert f"{counts}  (cancelled, " in done.out
    with spawned("why", ref, state) as process:
        assert f"{ref} failed " in finish(process).out


def test_the_third_interrupt_kills_what_ignores_the_others(stubborn, tmp_path):
    path, mark = stubborn
    patient = with_constant("reactor.resources.process.process_tree", "TERM_GRACE", 60.0)
    with spawned("run", path, program=patient) as process:
        started(tmp_path)
        wait_until(lambda: pids_running(mark))
        for words in ("stopping: waiting for exec#hang", "cancelling exec#hang", "killed 1 process group"):
            process.send_signal(signal.SIGINT)
            said(process, words)
        done = finish(process)
    assert done.code == 130
    wait_until(lambda: not pids_running(mark))
    assert not (tmp_path / "later").exists()


def test_a_signal_ignored_by_the_parent_stays_ignored(manifest, tmp_path):
    def ignore_hangup():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with spawned("run", "--format", "json", manifest(FLAPPING_FOR), preexec_fn=ignore_hangup) as process:
        events = (json.loads(line)["event"] for line in process.stdout)
        assert "converged" in events
        process.send_signal(signal.SIGHUP)
        (tmp_path / "a").write_text("drift")
        assert "checked" in events
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 0
    assert (tmp_path / "a").read_text() == "x"


def test_an_interrupt_before_the_engine_runs_shows_no_traceback(tmp_path):
    fifo = tmp_path / "manifest.yaml"
    os.mkfifo(fifo)
    with spawned("run", fifo) as process, fifo.open("w"):
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == -signal.SIGINT
    assert done.err == ""
