"""``reactor ensure KIND``: a resource from the shell is a resource of a manifest, checked and run by the same rules."""

import dataclasses
import os
import re
import shlex
import signal
import stat
from pathlib import Path

import pytest
from files_of_cli import written
from processes_of_cli import finish, pids_running, spawned, wait_until

from reactor.cli.commands.ensure_kind import OPTIONS
from reactor.ensure.sessions import Ensured
from reactor.manifest.source import COMMAND_LINE
from reactor.resource.registry import find_kind, kind_names

DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "ensure.md").read_text()


def test_a_file_is_made_and_then_is_as_desired(reactor, tmp_path):
    path = tmp_path / "motd"
    done = reactor("ensure", "file", path, "--content", "Welcome\n", "--mode", "0640")
    assert (done.code, path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (0, "Welcome\n", 0o640)
    assert f"file#{path}  changed  created the file" in done.out
    before = written(path)
    again = reactor("ensure", "file", path, "--content", "Welcome\n", "--mode", "0640")
    assert (again.code, again.out) == (0, f"file#{path}  ok\n")
    assert written(path) == before


def test_what_is_not_given_of_a_file_stays_as_it_is(reactor, tmp_path):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o600)
    assert reactor("ensure", "file", path, "--content", "new").code == 0
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)


def test_a_directory_may_be_entered_and_can_go_again(reactor, tmp_path):
    path = tmp_path / "directory"
    assert reactor("ensure", "file", path, "directory").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert reactor("ensure", "file", path, "absent").code == 0
    assert not path.exists()


def test_noop_shows_the_change_and_makes_none(reactor, tmp_path, state_directory):
    path = tmp_path / "motd"
    done = reactor("ensure", "file", path, "--content", "Welcome\n", "--noop", "--diff")
    assert done.code == 0
    assert "would change  Would have created the file" in done.out
    assert "+Welcome" in done.out
    assert not path.exists()
    assert not state_directory.exists()


def test_what_a_file_held_before_can_be_restored(reactor, tmp_path):
    path = tmp_path / "motd"
    path.write_text("precious")
    assert reactor("ensure", "file", path, "--content", "new").code == 0
    assert reactor("restore", path).code == 0
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("kind", "flags"), [("service", ("--enable", "--disable")), ("file", ("--force", "--no-force"))]
)
def test_a_flag_and_its_opposite_contradict_each_other(reactor, tmp_path, kind, flags):
    path = tmp_path / "made"
    for given in (flags, flags[::-1]):
        done = reactor("ensure", kind, path, *given)
        assert (done.code, path.exists()) == (2, False)
        assert f"{flags[0]} and {flags[1]} can't be used together" in done.err


def test_an_exec_takes_its_lists_and_flags_from_options(reactor, tmp_path):
    out = tmp_path / "out"
    script = f'echo "$A$B" > {shlex.quote(str(out))}; exit 3'
    done = reactor(
        "ensure", "exec", script, "--provider", "shell", "--environment", "A=1", "--environment", "B=2",
        "--returns", "0", "--returns", "3", "--timeout", "10s", "--no-logoutput",
    )  # fmt: skip
    assert (done.code, out.read_text()) == (0, "12\n")


@pytest.mark.parametrize(
    ("options", "runs"),
    [
        (["--creates", "/"], False),
        (["--exec-unless", "true"], False),
        (["--exec-unless", "false"], True),
        (["--onlyif", "false"], False),
        (["--if", "1 == 2"], False),
        (["--unless", "1 == 1"], False),
        (["--if", "Data.role == 'web'", "--data", "role=web"], True),
        (["--unless", "Facts.role == 'web'", "--fact", "role=web"], False),
        (["--refresh-only"], False),
        (["--refreshonly"], False),
        (["--meta", "noop=true"], False),
        (["--meta", "mode=warn"], False),
    ],
)
def test_guards_and_conditions_decide_whether_a_command_runs(reactor, tmp_path, options, runs):
    path = tmp_path / "ran"
    done = reactor("ensure", "exec", f"touch {path}", *options)
    assert done.code == 0, done.err
    assert path.exists() is runs


def test_what_a_manifest_is_warned_of_is_warned_of_here_too(reactor):
    done = reactor("ensure", "exec", "echo a | cat")
    assert done.code == 0
    assert done.err.startswith(
        "warning: command line:1:21: exec#echo a | cat: | is only understood by a shell"
    )
    assert "warning" not in reactor("ensure", "exec", "echo a | cat", "--provider", "shell").err


def test_expressions_are_evaluated_as_in_a_manifest(reactor, tmp_path):
    path = tmp_path / "{{ Data.name }}"
    done = reactor(
        "ensure", "file", path, "--content", "{{ Facts.role }}", "--data", "name=x", "--fact", "role=db"
    )
    assert (done.code, (tmp_path / "x").read_text()) == (0, "db")


def test_data_come_from_the_file_of_the_directory_unless_another_is_named(reactor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("ensure", "exec", "echo {{ Data.name ?? 'none' }}", "--noop")
    assert "echo none" in reactor(*command).out
    (tmp_path / ".hiera").write_text("data: {name: own}\noverrides: {default: {name: overridden}}")
    assert "echo overridden" in reactor(*command).out
    (tmp_path / "other.yaml").write_text("data: {name: other}")
    assert "echo other" in reactor(*command, "--hiera", "other.yaml").out


def test_a_relative_source_starts_at_the_current_directory(reactor, tmp_path, monkeypatch):
    (tmp_path / "source").write_text("copied")
    monkeypatch.chdir(tmp_path)
    assert reactor("ensure", "file", tmp_path / "copy", "--source", "source").code == 0
    assert (tmp_path / "copy").read_text() == "copied"


def test_a_health_check_that_is_not_ok_fails_it(reactor):
    done = reactor("ensure", "exec", "true", "--check", "false", "--check-tries", "2", "--check-sleep", "1ms")
    assert done.code == 1
    assert "health check 'false' is warning" in done.out
    assert reactor("ensure", "exec", "true", "--check", "true").code == 0


def test_another_manifest_is_applied_as_a_whole(reactor, manifest, tmp_path):
    path = manifest("resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n")
    done = reactor("ensure", "apply", path)
    assert (done.code, (tmp_path / "a").read_text()) == (0, "x")
    assert "changed 2" in done.out


def test_another_manifest_ends_with_a_failure_if_it_says_so(reactor, manifest, tmp_path):
    path = manifest(
        "ccm:\n  fail_on_error: true\n  resources:\n"
        "    - exec: [{bad: {command: /bin/false}}, {next: {command: 'touch {dir}/next'}}]\n"
    )
    done = reactor("ensure", "apply", path)
    assert (done.code, (tmp_path / "next").exists()) == (1, False)
    assert "exec#next  blocked  by exec#bad" in done.out


def test_events_come_as_json(reactor, tmp_path):
    done = reactor("ensure", "exec", "true", "--format", "json")
    events = done.records
    assert [event["event"] for event in events] == ["checked", "converged", "ended"]
    assert (events[0]["ref"], events[0]["result"]) == ("exec#true", "changed")


@pytest.mark.parametrize(
    ("args", "code", "detailed"),
    [
        (["exec", "true"], 0, 2),
        (["exec", "true", "--creates", "/"], 0, 0),
        (["exec", "true", "--noop"], 0, 2),
        (["exec", "false"], 1, 4),
        (["exec", "true", "--timeout", "never"], 2, 1),
        (["exec", "true", "--timeoutt", "1s"], 2, 1),
        (["exec", "true", "--check-tries", "2"], 2, 1),
        (["exec", "true", "--fact", "no value"], 2, 1),
        (["exce", "true"], 2, 1),
        (["exec", "true", "--require", "exec#x"], 2, 1),
        (["exec", "true", "--session", "/nowhere"], 2, 1),
    ],
)
def test_exit_codes_are_those_of_run(reactor, args, code, detailed):
    assert reactor("ensure", *args).code == code
    assert reactor("ensure", *args, "--detailed-exitcodes").code == detailed


def test_an_error_points_at_the_word_it_is_about(reactor, tmp_path):
    done = reactor("ensure", "file", tmp_path / "x", "--mode", "0999", "--owner", "two words")
    assert done.code == 2
    place, line, caret = done.err.splitlines()[:3]
    assert place.startswith(f"{COMMAND_LINE}:1:")
    assert "mode '0999' is not a valid octal number" in place
    assert line.endswith("--mode 0999") or "--mode 0999 " in line
    assert line[caret.index("^") :].startswith("0999")
    assert not (tmp_path / "x").exists()


def test_all_that_is_wrong_is_reported_at_once(reactor):
    done = reactor("ensure", "service", "x", "runing", "--on-refresh", "nothing", "--require", "nonsense")
    assert done.code == 2
    assert all(word in done.err for word in ("runing", "nothing", "nonsense", "3 errors"))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fil", "x"], "did you mean 'file'?"),
        (["zzz", "x"], "kinds: address"),
        (["file"], "missing argument 'NAME'"),
        (["exec", "x", "--meta", "noop"], "is not KEY=VALUE"),
        (["exec", "x", "--meta", "noop=true", "--meta", "noop=false"], "is set twice"),
        (["exec", "x", "--check-tries", "2"], "--check"),
        (["exec", "x", "--check", "true", "--check-tries", "many"], "many"),
        (["exec", "x", "--environment", "novalue"], "has no '='"),
        (["exec", "x", "--returns", "one"], "integer"),
        (["exec", "x", "--subscribe", "exec#y"], 'eval "$(reactor session new)"'),
    ],
)
def test_bad_usage_is_explained(reactor, args, words):
    done = reactor("ensure", *args)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err


def test_every_option_of_its_own_is_in_the_documentation():
    table = DOCUMENTATION.partition("| option | effect |")[2].partition("\n\n")[0]
    assert {name for each in OPTIONS for name in each.opts if name.startswith("--")} <= set(
        re.findall(r"--[a-z-]+", table)
    )


def test_every_field_of_the_note_in_the_session_is_in_the_documentation():
    told = DOCUMENTATION.partition("one `ensured` for each call:")[2].partition(". ")[0]
    assert re.findall(r"`(\w+)`", told) == [
        each.name for each in dataclasses.fields(Ensured) if each.name != "time"
    ]


@pytest.mark.parametrize("args", [["file", "/tmp/\udcff", "absent"], ["exec", "true", "--alias", "\udcff"]])
def test_what_is_no_text_is_refused_as_no_manifest_could_say_it(reactor, args):
    done = reactor("ensure", *args)
    assert done.code == 2
    assert "not valid UTF-8" in done.err


def test_our_own_state_is_not_touched(reactor, state_directory):
    done = reactor("ensure", "file", state_directory / "journal.sqlite", "absent")
    assert done.code == 2
    assert "manages the state directory" in done.err


def test_a_useless_state_directory_costs_the_backup_and_not_the_change(reactor, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    path = tmp_path / "motd"
    done = reactor("ensure", "file", path, "--content", "x", "--state-dir", tmp_path / "state")
    assert (done.code, path.read_text()) == (0, "x")
    assert "not backed up" in done.err


def test_a_converger_on_the_state_directory_is_no_obstacle(reactor, manifest, tmp_path):
    path = manifest("resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n")
    with spawned("run", path) as process:
        wait_until((tmp_path / "a").exists)
        assert reactor("ensure", "file", tmp_path / "b", "--content", "x").code == 0
        process.send_signal(signal.SIGINT)
        finish(process)


def test_a_signal_ends_it_with_what_it_runs():
    marker = f"86399.{os.getpid()}"
    with spawned("ensure", "exec", f"sleep {marker}") as process:
        wait_until(lambda: pids_running(f"sleep\0{marker}"))
        process.send_signal(signal.SIGINT)
        assert b"stopping: waiting for" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == 128 + signal.SIGINT
    wait_until(lambda: not pids_running(f"sleep\0{marker}"))


@pytest.mark.parametrize("kind", kind_names())
def test_the_help_of_a_kind_has_every_property_and_an_example(reactor, kind):
    done = reactor("ensure", kind, "--help")
    assert done.code == 0
    assert f"  reactor ensure {kind} " in done.out.partition("Example")[2]
    for name in find_kind(kind).model_fields:
        if name in ("ensure", "name", "register_when_stable", "control", "health_checks", "after"):
            continue
        # Only a manifest has a list of maps, such as health_checks.
        if (kind, name) == ("firewall", "rules"):
            continue
        field = find_kind(kind).model_fields[name]
        word = (field.alias or name).replace("_", "-")
        assert f"--{word}" in done.out or f"--{kind}-{word}" in done.out


@pytest.mark.parametrize("kind", [kind for kind in kind_names() if find_kind(kind).example])
def test_the_example_of_a_kind_is_a_valid_resource(reactor, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.yaml").write_text("resources: []\n")
    (tmp_path / "roles" / "base").mkdir(parents=True)
    (tmp_path / "roles" / "base" / "manifest.yaml").write_text("resources: []\n")
    done = reactor("ensure", kind, *shlex.split(find_kind(kind).example), "--noop")
    assert done.code in (0, 1), done.err  # what it is about need not be on this host
    assert "error:" not in done.err


@pytest.mark.parametrize("kind", ["file", "exec"])
def test_the_examples_that_need_nothing_work(reactor, kind, tmp_path):
    words = shlex.split(find_kind(kind).example.replace("/tmp/", f"{tmp_path}/"))
    assert reactor("ensure", kind, *words).code == 0
    assert reactor("ensure", kind, *words).out.endswith("  ok\n")
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("setting", "x"), "add --path ..."),
        (("cron", "x"), 'add --schedule "0 3 * * *", or minute and hour'),
        (("cron", "x"), "add it: --command /usr/local/bin/backup"),
        (("certificate", "/etc/x"), "add --names app.example.com"),
        (("mount", "/mnt"), "add them, for example --device /dev/sdb1, --fstype ext4"),
        (("ca_certificate", "x"), "add --source /etc/ssl/ca/cert.pem"),
        (("sysctl", "vm.swappiness", "10"), "all else is an option: see 'reactor ensure sysctl --help'"),
    ],
)
def test_a_hint_has_the_options_that_can_be_typed(reactor, words, hint):
    done = reactor("ensure", *words)
    assert f"\nhint: {hint}\n" in done.err
    assert re.search(r"\d errors?\n$", done.err)
