"""Health checks on the command line: exit codes, expressions, memory over runs, ``--monitor-only``."""

import json
import signal
import subprocess
import sys
from functools import partial

import pytest
from processes_of_cli import finish, spawned, wait_until

CHECKED = """
resources:
  - file:
      - {directory}/made:
          ensure: present
          content: x
          owner: root
          group: root
          mode: "0644"
          health_checks:
            - {{command: "/bin/sh -c 'echo all is lost; exit {code}'", name: looks, interval: 50ms}}
            - goss_rules: {{file: {{{directory}/well: {{exists: true}}}}}}
  - exec:
      - after:
          command: /bin/touch {directory}/ran
          require: file#{directory}/made
"""


@pytest.fixture
def manifest(tmp_path):
    def write(code=0):
        path = tmp_path / "site.yaml"
        path.write_text(CHECKED.format(directory=tmp_path, code=code))
        return path

    (tmp_path / "well").touch()
    return write


@pytest.fixture
def run(reactor):
    return partial(reactor, "run")


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def made(tmp_path):
    return {path.name for path in tmp_path.iterdir()} & {"made", "ran"}


def test_a_critical_check_fails_the_run_and_blocks_what_requires_it(manifest, tmp_path, run):
    done = run("--converge-once", manifest(code=2))
    assert done.code == 1
    assert "health check 'looks' is critical: all is lost" in done.out
    assert made(tmp_path) == {"made"}


def test_what_was_changed_before_the_health_check_failed_is_said_and_counted(manifest, tmp_path, run):
    path = manifest(code=2)
    done = run("--converge-once", "--detailed-exitcodes", path)
    assert done.code == 6
    assert f"file#{tmp_path}/made  failed  after it created the file (initial, " in done.out
    assert "failed 1  blocked 1  (not converged, 1 change in " in done.out


def test_without_complaints_the_run_is_as_any_other(manifest, tmp_path, run):
    done = run("--converge-once", "--format", "json", manifest())
    assert done.code == 0
    assert made(tmp_path) == {"made", "ran"}
    [checked] = [each for each in events(done.out) if each.get("health")]
    assert [(each["name"], each["status"]) for each in checked["health"]] == [("looks", "ok"), ("goss", "ok")]


def test_expressions_are_evaluated_also_in_the_keys_of_rules(tmp_path, run):
    path = tmp_path / "site.yaml"
    path.write_text(
        f"data: {{dir: {tmp_path}, word: fine}}\n"
        "resources:\n"
        "  - exec:\n"
        "      - /bin/true:\n"
        "          health_checks:\n"
        "            - command: /bin/echo {{ Data.word }}\n"
        "              name: is {{ Data.word }}\n"
        '            - goss_rules: {file: {"{{ Data.dir }}/site.yaml": {contents: ["{{ Data.word }}"]}}}\n'
    )
    done = run("--converge-once", "--format", "json", path)
    [checked] = [each for each in events(done.out) if each.get("health")]
    assert [(each["name"], each["output"]) for each in checked["health"]] == [
        ("is fine", "fine"),
        ("goss", "1 rule holds"),
    ]


def test_a_refresh_that_was_made_is_not_made_again_by_the_next_run(tmp_path, run):
    path = tmp_path / "site.yaml"
    path.write_text(
        "resources:\n"
        "  - file:\n"
        f"      - {tmp_path}/watched: {{ensure: present, content: x, owner: root, group: root, mode: '0644'}}\n"
        "  - exec:\n"
        f"      - \"/bin/sh -c 'echo ran >> {tmp_path}/log'\":\n"
        "          refreshonly: true\n"
        f"          subscribe: file#{tmp_path}/watched\n"
        "          health_checks: [{command: /bin/false}]\n"
    )
    assert [run("--converge-once", path).code for _ in range(2)] == [1, 1]
    assert (tmp_path / "log").read_text() == "ran\n"


@pytest.mark.parametrize(("code", "exit_code"), [(0, 0), (1, 1), (2, 1), (3, 1)])
def test_monitor_only_applies_nothing_and_its_exit_code_reports(manifest, tmp_path, code, exit_code, run):
    done = run("--monitor-only", "--converge-once", manifest(code))
    assert done.code == exit_code
    assert ("all is lost" in done.out) is bool(code)
    assert made(tmp_path) == set()


def test_monitor_only_stays_and_looks_on_intervals(manifest, tmp_path):
    with spawned("run", "--monitor-only", "--format", "json", manifest()) as process:
        seen = map(json.loads, process.stdout)
        assert next(event for event in seen if event.get("health"))["result"] == "ok"
        (tmp_path / "well").unlink()
        sick = next(event for event in seen if event.get("result") == "failed")
        assert sick["causes"] == ["drift"]
        assert (
            sick["error"]
            == f"health check 'goss' is critical: file {tmp_path}/well: exists is false, expected true"
        )
        (tmp_path / "well").touch()
        assert next(event for event in seen if event.get("result") == "ok")
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == 0
    assert made(tmp_path) == set()


def test_monitor_only_runs_beside_a_converger(manifest, run):
    path = manifest()
    with spawned("run", "--format", "json", path) as converger:
        wait_until(lambda: json.loads(converger.stdout.readline())["event"] == "converged")
        assert run("--monitor-only", "--converge-once", path).code == 0


@pytest.mark.parametrize(("detailed", "exit_code"), [((), 2), (("--detailed-exitcodes",), 1)])
def test_monitor_only_and_noop_exclude_each_other(manifest, detailed, exit_code, run):
    done = run("--monitor-only", "--noop", *detailed, manifest())
    assert done.code == exit_code
    assert "--noop and --monitor-only can't be used together" in done.err


def test_what_is_wrong_with_a_check_is_shown_where_it_stands(tmp_path, run):
    path = tmp_path / "site.yaml"
    path.write_text(
        "resources:\n"
        "  - exec:\n"
        "      - a:\n"
        "          health_checks:\n"
        '            - {command: "/bin/x \'a", tries: 0}\n'
        "            - {command: /bin/true, goss_rules: {file: {/x: {exist: true}}}}\n"
        "            - {command: /bin/true, goss_rules: {file: {/x: {}}}}\n"
        "            - {command: /bin/true, format: goss}\n"
        "            - {interval: 5}\n"
    )
    done = run("--converge-once", path)
    assert done.code == 2
    assert "hint: did you mean 'exists'?" in done.err
    assert [
        line.removeprefix(f"{path}:") for line in done.err.splitlines() if line.startswith(str(path))
    ] == [
        "5:25: error[R0111]: health_checks[0].command: unterminated single quote",
        "5:45: error[R0111]: health_checks[0].tries: it must be greater than or equal to 1",
        "6:61: error[R0106]: health_checks[1].goss_rules.file./x has no property 'exist'",
        "7:15: error[R0111]: health_checks[2]: 'command' or 'goss_rules' are mutually exclusive: make them two health checks",
        "8:15: error[R0111]: health_checks[3]: 'format' must be 'nagios' when using 'command': remove it",
        "9:26: error[R0111]: health_checks[4].interval: a duration needs a unit: write 5s for seconds",
    ]


def test_why_names_the_health_check_that_a_repair_was_for(tmp_path, run):
    path = tmp_path / "site.yaml"
    path.write_text(
        "resources:\n"
        "  - exec:\n"
        f"      - mend:\n"
        f"          command: /bin/touch {tmp_path}/well\n"
        "          refreshonly: true\n"
        "          health_checks:\n"
        f"            - {{name: is well, command: /bin/sh -c 'test -e {tmp_path}/well || exit 2', on_critical: refresh}}\n"
    )
    state = tmp_path / "state"
    done = run("--converge-once", "--state-dir", state, path)
    assert done.code == 0
    assert (tmp_path / "well").exists()
    told = subprocess.run(
        [sys.executable, "-m", "reactor", "why", "exec#mend", "--state-dir", state],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert "exec#mend was changed" in told[0]
    assert told[1] == "  It was checked because its health check 'is well' was critical."
    assert "health check 'is well' is critical" in told[2]


def test_what_to_do_when_it_is_critical_is_one_of_three_words(tmp_path, run):
    path = tmp_path / "site.yaml"
    path.write_text(
        "resources:\n  - exec:\n      - a: {health_checks: [{command: /bin/true, on_critical: restart}]}\n"
    )
    done = run("--converge-once", path)
    assert done.code == 2
    assert "3:63: error[R0110]: health_checks[0].on_critical must be 'check', 'refresh' or 'none'" in done.err
