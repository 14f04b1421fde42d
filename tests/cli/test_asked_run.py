"""`reactor run --converge-once` beside an active run on the same state directory."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from asked_worlds import AskedWorld, both, end
from processes_of_cli import GUARD, finish, spawned, up_to, wait_until

IN_ORDER = "settings: {ordering: manifest}\nresources:\n"
TWO = (
    IN_ORDER
    + "  - file:\n      - {dir}/a: {ensure: present, content: one, {own}}\n      - {dir}/b: {ensure: present, content: two, {own}}\n"
)
UNSEEN = IN_ORDER + "  - exec:\n      - touch {dir}/made: {unless: test -e {dir}/made}\n"
"""What undoes it has no event: only a check finds it."""
FAILING = (
    IN_ORDER
    + "  - exec:\n      - sh -c 'test -e {dir}/fixed': {alias: gate}\n"
    + "  - file:\n      - {dir}/after: {ensure: present, content: x, {own}, require: [exec#gate]}\n"
    + "      - {dir}/beside: {ensure: present, content: x, {own}}\n"
)


def nothing(_world):
    """No change."""


@pytest.mark.parametrize("args", [(), ("--format", "json"), ("--detailed-exitcodes",), ("--diff",)])
def test_what_is_as_desired_is_shown_as_by_a_run_alone(tmp_path, args):
    asked, alone = both(tmp_path, TWO, nothing, *args)
    assert asked == alone
    assert asked[0] == 0


@pytest.mark.parametrize("args", [(), ("--format", "json"), ("--detailed-exitcodes",), ("--diff",)])
def test_another_version_of_the_manifest_is_applied(tmp_path, args):
    def change(world):
        world.write(TWO.replace("two", "three") + "      - {dir}/c: {ensure: present, content: new, {own}}\n")

    asked, alone = both(tmp_path, TWO, change, *args)
    assert asked == alone
    assert asked[0] == (2 if "--detailed-exitcodes" in args else 0)
    assert (tmp_path / "asked" / "b").read_text() == "three"
    assert (tmp_path / "asked" / "c").read_text() == "new"


@pytest.mark.parametrize("args", [(), ("--format", "json")])
def test_drift_without_an_event_is_found_and_repaired(tmp_path, args):
    asked, alone = both(tmp_path, UNSEEN, lambda world: (world.directory / "made").unlink(), *args)
    assert asked == alone
    assert asked[0] == 0
    assert "drift" in str(asked[1])
    assert (tmp_path / "asked" / "made").exists()


@pytest.mark.parametrize("args", [(), ("--format", "json"), ("--detailed-exitcodes",)])
def test_a_failure_and_what_it_blocks_are_shown_and_tried_at_once(tmp_path, args):
    asked, alone = both(tmp_path, FAILING, nothing, *args, until="blocked")
    assert asked == alone
    assert asked[0] == (4 if "--detailed-exitcodes" in args else 1)
    assert "blocked" in str(asked[1])


def test_a_failure_that_waits_for_its_retry_is_tried_at_once(tmp_path):
    world = AskedWorld(tmp_path / "asked", FAILING.replace("alias: gate", "alias: gate, meta: {delay: 250s}"))
    with world.active(until="blocked"):
        (world.directory / "fixed").touch()
        code, out, _ = world.once()
    assert code == 0
    assert any("after" in line and "changed" in line for line in out)


@pytest.mark.parametrize("args", [(), ("--format", "json"), ("--detailed-exitcodes",)])
def test_an_invalid_manifest_is_shown_and_changes_nothing(tmp_path, args):
    asked, alone = both(
        tmp_path, TWO, lambda world: world.write(TWO.replace("content: one", "contnt: 1")), *args
    )
    assert asked == alone
    assert asked[0] == (1 if "--detailed-exitcodes" in args else 2)
    assert "contnt" in str(asked[2])
    assert (tmp_path / "asked" / "a").read_text() == "one"


def test_a_version_that_was_rejected_before_is_still_invalid(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active():
        world.write(TWO.replace("content: one", "contnt: 1"))
        assert world.once() == world.once()
        assert world.once()[0] == 2
        world.write(TWO)
        assert world.once()[0] == 0


def test_a_command_without_guards_runs_as_in_a_run_alone(tmp_path):
    text = IN_ORDER + "  - exec:\n      - sh -c 'echo x >> {dir}/log':\n"
    asked, alone = both(tmp_path, text, nothing)
    assert asked == alone
    assert (tmp_path / "asked" / "log").read_text() == (tmp_path / "alone" / "log").read_text() == "x\nx\n"


def test_a_refresh_follows_a_change(tmp_path):
    text = (
        IN_ORDER + "  - file:\n      - {dir}/a: {ensure: present, content: one, {own}}\n"
        "  - exec:\n      - sh -c 'echo x >> {dir}/log': {refreshonly: true, subscribe: ['file#{dir}/a']}\n"
    )
    asked, alone = both(tmp_path, text, lambda world: world.write(text.replace("one", "two")))
    assert asked == alone
    assert (tmp_path / "asked" / "log").read_text() == "x\nx\n"


def test_a_resource_that_is_not_managed_here_is_skipped_again(tmp_path):
    text = TWO + "      - {dir}/c: {ensure: present, content: x, {own}, control: {if: '1 == 2'}}\n"
    asked, alone = both(tmp_path, text, nothing, "--format", "json")
    assert asked == alone
    assert "skipped" in str(asked[1])


def test_messages_and_resources_that_only_report_are_shown(tmp_path):
    text = TWO + "      - {dir}/c: {ensure: present, content: x, {own}, meta: {noop: true}}\n"
    asked, alone = both(tmp_path, text, nothing)
    assert asked == alone
    assert "would change" in str(asked[1])


def test_what_is_paused_is_left_out(tmp_path):
    def change(world):
        with spawned("pause", "file#*/a", "--for", "1h", "--reason", "x", env=world.environment()) as pausing:
            assert finish(pausing).code == 0

    asked, alone = both(tmp_path, TWO, change)
    until = [[line for line in each[1] if "paused" not in line] for each in (asked, alone)]
    assert (asked[0], asked[2], until[0]) == (alone[0], alone[2], until[1])
    assert asked[0] == 1
    assert [line.partition("until")[0] for line in asked[1] if "paused" in line] == ["file#DIR/a  paused  "]


def test_the_last_message_is_shown_if_all_is_well(tmp_path):
    text = "ccm:\n  pre_message: before\n  post_message: after\n  resources:\n    - file:\n        - {dir}/a: {ensure: present, content: x, {own}}\n"
    asked, alone = both(tmp_path, text, nothing)
    assert asked == alone
    assert {"before", "after"} <= set(asked[1])


# ---- what is refused ----


def differing(world, *args, manifest=None, **variables):
    words = ("run", "--converge-once", *args, manifest or world.manifest)
    with spawned(*words, env=world.environment(**variables)) as process:
        done = finish(process)
    assert done.code == 1, done
    assert "error[R0601]: process " in done.err
    assert done.out == ""
    return done.err.partition("since these differ: ")[2].strip()


def test_another_input_is_refused_and_named(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    other = world.directory / "other.yaml"
    other.write_text(world.manifest.read_text())
    with world.active():
        assert differing(world, "--fact", "a=b") == "--fact"
        assert differing(world, "--data", "a=b", "--only", "file#*/a") == "--data, --only"
        assert differing(world, manifest=other) == "MANIFEST"
        assert differing(world, "--no-read-env") == "--no-read-env"
        assert differing(world, HTTP_PROXY="http://127.0.0.1:1") == "$HTTP_PROXY"
        assert differing(world, CCM_HIERA_DATA=str(other)) == "--hiera"


def test_the_same_inputs_are_accepted_in_any_form(tmp_path, monkeypatch):
    world = AskedWorld(tmp_path / "asked", TWO)
    monkeypatch.chdir(world.directory)
    with world.active("--fact", "a=b", "--jobs", "3"):
        with spawned(*world.words("--fact=a=b")[:-1], "site.yaml", env=world.environment()) as process:
            assert finish(process).code == 0
        assert differing(world) == "--fact"


def test_only_variables_that_are_read_must_be_the_same(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO.replace("two", '"{{ Environ.COLOUR }}"'))
    with world.active(COLOUR="red"):
        assert world.once(COLOUR="red", SHAPE="round")[0] == 0
        assert differing(world, COLOUR="blue") == "$COLOUR"
    assert (world.directory / "b").read_text() == "red"


@pytest.mark.parametrize(
    ("engine", "text"),
    [("jinja", "{{ Environ.COLOUR }}"), ("jet", "[[ Environ.COLOUR ]]"), ("go", "{{ .Environ.COLOUR }}")],
)
def test_what_templates_read_must_be_the_same(tmp_path, engine, text):
    world = AskedWorld(
        tmp_path / "asked", TWO.replace("content: two", f"template: {{dir}}/t, engine: {engine}")
    )
    (world.directory / "t").write_text(text)
    with world.active(COLOUR="red"):
        assert (world.directory / "b").read_text().strip() == "red"
        assert world.once(COLOUR="red", SHAPE="round")[0] == 0
        assert differing(world, COLOUR="blue") == "$COLOUR"


def test_a_variable_that_only_the_new_version_reads_counts(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active():
        world.write(TWO.replace("two", '"{{ Environ.COLOUR ?? "none" }}"'.replace('"none"', "'none'")))
        assert differing(world, COLOUR="blue") == "$COLOUR"


def test_a_file_env_is_refused(tmp_path, monkeypatch):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active():
        monkeypatch.chdir(world.directory)
        (world.directory / ".env").write_text("A=1\n")
        assert "the file .env" in differing(world)


# ---- what goes wrong ----


def test_an_active_run_that_is_killed_has_not_converged(tmp_path):
    text = (
        IN_ORDER
        + "  - exec:\n      - sh -c 'test ! -e {dir}/slow || exec sleep 600': {unless: test ! -e {dir}/slow}\n"
    )
    world = AskedWorld(tmp_path / "asked", text)
    with world.active() as process:
        (world.directory / "slow").touch()
        with spawned(*world.words("--format", "json"), env=world.environment()) as asking:
            wait_until(lambda: len(children_of(process.pid)) > 0)
            process.kill()
            done = finish(asking)
    assert done.code == 1
    assert done.err.startswith("error[R0606]: the active run ")


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def test_an_active_run_that_is_stopped_is_named(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    quick = (
        "-c",
        "import reactor.cli.asking as asking; asking.TIMEOUT = 0.2; from reactor.cli import main; main()",
    )
    with world.active() as process:
        process.send_signal(signal.SIGSTOP)
        with spawned(*world.words("--detailed-exitcodes"), program=quick, env=world.environment()) as asking:
            done = finish(asking)
        process.send_signal(signal.SIGCONT)
        assert (done.code, done.out) == (4, "")
        assert done.err.startswith("error[R0606]: the active run does not answer\nhint: ")
        assert world.once()[0] == 0


def test_an_interrupted_client_ends_and_the_run_goes_on(tmp_path):
    text = UNSEEN.replace(
        "touch {dir}/made", "sh -c 'until test -e {dir}/go; do sleep 0.01; done; touch {dir}/made'"
    )
    world = AskedWorld(tmp_path / "asked", text)
    (world.directory / "go").touch()
    with world.active() as process:
        (world.directory / "go").unlink()
        (world.directory / "made").unlink()
        with spawned(*world.words(), env=world.environment()) as asking:
            wait_until(lambda: len(children_of(process.pid)) > 0)
            asking.send_signal(signal.SIGINT)
            assert finish(asking).code == 130
        (world.directory / "go").touch()
        wait_until((world.directory / "made").exists)
        assert world.once()[0] == 0


def test_a_client_that_stops_reading_delays_nothing(tmp_path):
    world = AskedWorld(tmp_path / "asked", UNSEEN)
    with world.active():
        (world.directory / "made").unlink()
        with spawned(*world.words(), env=world.environment()) as asking:
            asking.send_signal(signal.SIGSTOP)
            assert world.once()[0] == 0
            asking.send_signal(signal.SIGCONT)
            assert finish(asking).code == 0


def test_two_clients_are_answered_one_after_the_other(tmp_path):
    text = IN_ORDER + "  - exec:\n      - sh -c 'echo x >> {dir}/log':\n"
    world = AskedWorld(tmp_path / "asked", text)
    with world.active(), spawned(*world.words(), env=world.environment()) as first:
        second = world.once()
        assert world.comparable(finish(first)) == second
    assert second[0] == 0
    assert (world.directory / "log").read_text() == "x\nx\nx\n"


def test_a_socket_in_a_directory_of_others_is_not_connected_to(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    world.state.mkdir()
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(world.state / "control.sock"))
        foreign.listen()
        foreign.setblocking(False)
        world.state.chmod(0o777)
        code, _, err = world.once()
        assert code == 2
        assert "every user can write" in str(err)
        with pytest.raises(BlockingIOError):
            foreign.accept()


def test_a_dead_socket_is_no_active_run(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active() as process:
        process.kill()
        process.wait(GUARD)
        assert (world.state / "control.sock").exists()
        assert world.once()[0] == 0


def test_a_dry_run_does_not_ask(tmp_path):
    world = AskedWorld(tmp_path / "asked", UNSEEN)
    with world.active():
        (world.directory / "made").unlink()
        assert world.once("--noop")[0] == 0
        assert not (world.directory / "made").exists()


# ---- what it costs ----


def test_the_client_imports_nothing_heavy(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active():
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "reactor", *map(str, world.words("--format", "json"))],
            capture_output=True, text=True, env=world.environment(), check=True, timeout=GUARD,
        )  # fmt: skip
    names = {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert json.loads(done.stdout.splitlines()[-1])["event"] == "ended"
    assert not {"trio", "click", "pydantic", "yaml", "http", "email", "dataclasses", "subprocess"} & names
    assert len([name for name in names if name.startswith("reactor")]) < 20


def test_the_process_of_the_active_run_answers(tmp_path):
    world = AskedWorld(tmp_path / "asked", IN_ORDER + "  - exec:\n      - sh -c 'echo $PPID >> {dir}/log':\n")
    with world.active() as process:
        assert world.once()[0] == 0
        assert (world.directory / "log").read_text().split() == [str(process.pid)] * 2
        assert end(process).code == 0
    assert os.listdir(world.state)


def test_a_manifest_that_only_one_process_can_read_is_refused(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    pipe = world.directory / "pipe.yaml"
    os.mkfifo(pipe)
    ending = "-c", "import sys; from reactor.cli.asking import request_of; sys.exit(request_of((sys.argv[1],), {}) is not None)"
    with spawned(pipe, program=ending) as process:
        assert finish(process).code == 0


def test_a_path_that_leads_each_process_to_another_file_is_refused(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    link = world.directory / "link.yaml"
    link.symlink_to("/dev/stdin")
    with world.manifest.open() as first, (world.directory / "other.yaml").open("w+") as second:
        second.write(world.manifest.read_text())
        second.seek(0)
        words = ("run", "--converge-once", link)
        with spawned("run", "--format", "json", link, stdin=first, env=world.environment()) as active:
            up_to(active, "converged")
            with spawned(*words, stdin=second, env=world.environment()) as process:
                assert "the files that the paths lead to" in finish(process).err
