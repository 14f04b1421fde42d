"""`reactor run --converge-once` beside an active run on the same state directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from asked_worlds import IN_ORDER, TWO, UNSEEN, AskedWorld, end
from processes_of_cli import GUARD, finish, spawned

FAILING = (
    IN_ORDER
    + "  - exec:\n      - sh -c 'test -e {dir}/fixed': {alias: gate}\n"
    + "  - file:\n      - {dir}/after: {ensure: present, content: x, {own}, require: [exec#gate]}\n"
    + "      - {dir}/beside: {ensure: present, content: x, {own}}\n"
)


@pytest.fixture
def both(tmp_path, reactor):
    """What a one-shot run shows after ``change``: beside the active run, and alone after it has ended."""

    def call(text, change, *args, until="converged"):
        asked = AskedWorld(tmp_path / "asked", text)
        with asked.active(until=until) as process:
            change(asked)
            shown = asked.once(*args)
            assert process.poll() is None
        alone = AskedWorld(tmp_path / "alone", text)
        assert alone.in_this_process(reactor, "run", "--converged-timeout", "1ms", alone.manifest).code == (
            until != "converged"
        )
        change(alone)
        return shown, alone.once_in_this_process(reactor, *args)

    return call


def nothing(_world):
    """No change."""


@pytest.mark.parametrize("args", [(), ("--format", "json"), ("--detailed-exitcodes",), ("--diff",)])
def test_what_is_as_desired_is_shown_as_by_a_run_alone(both, args):
    asked, alone = both(TWO, nothing, *args)
    assert asked == alone
    assert asked[0] == 0


@pytest.mark.parametrize("args", [(), ("--format", "json"), ("--detailed-exitcodes",), ("--diff",)])
def test_another_version_of_the_manifest_is_applied(both, tmp_path, args):
    def change(world):
        world.write(TWO.replace("two", "three") + "      - {dir}/c: {ensure: present, content: new, {own}}\n")

    asked, alone = both(TWO, change, *args)
    assert asked == alone
    assert asked[0] == (2 if "--detailed-exitcodes" in args else 0)
    assert (tmp_path / "asked" / "b").read_text() == "three"
    assert (tmp_path / "asked" / "c").read_text() == "new"


@pytest.mark.parametrize("args", [(), ("--format", "json")])
def test_drift_without_an_event_is_found_and_repaired(both, tmp_path, args):
    asked, alone = both(UNSEEN, lambda world: (world.directory / "made").unlink(), *args)
    assert asked == alone
    assert asked[0] == 0
    assert "drift" in str(asked[1])
    assert (tmp_path / "asked" / "made").exists()


@pytest.mark.parametrize("args", [(), ("--format", "json"), ("--detailed-exitcodes",)])
def test_a_failure_and_what_it_blocks_are_shown_and_tried_at_once(both, args):
    asked, alone = both(FAILING, nothing, *args, until="blocked")
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
def test_an_invalid_manifest_is_shown_and_changes_nothing(both, tmp_path, args):
    asked, alone = both(TWO, lambda world: world.write(TWO.replace("content: one", "contnt: 1")), *args)
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


def test_a_command_without_guards_runs_as_in_a_run_alone(both, tmp_path):
    text = IN_ORDER + "  - exec:\n      - sh -c 'echo x >> {dir}/log':\n"
    asked, alone = both(text, nothing)
    assert asked == alone
    assert (tmp_path / "asked" / "log").read_text() == (tmp_path / "alone" / "log").read_text() == "x\nx\n"


def test_a_refresh_follows_a_change(both, tmp_path):
    text = (
        IN_ORDER + "  - file:\n      - {dir}/a: {ensure: present, content: one, {own}}\n"
        "  - exec:\n      - sh -c 'echo x >> {dir}/log': {refreshonly: true, subscribe: ['file#{dir}/a']}\n"
    )
    asked, alone = both(text, lambda world: world.write(text.replace("one", "two")))
    assert asked == alone
    assert (tmp_path / "asked" / "log").read_text() == "x\nx\n"


def test_a_resource_that_is_not_managed_here_is_skipped_again(both):
    text = TWO + "      - {dir}/c: {ensure: present, content: x, {own}, control: {if: '1 == 2'}}\n"
    asked, alone = both(text, nothing, "--format", "json")
    assert asked == alone
    assert "skipped" in str(asked[1])


def test_messages_and_resources_that_only_report_are_shown(both):
    text = TWO + "      - {dir}/c: {ensure: present, content: x, {own}, meta: {noop: true}}\n"
    asked, alone = both(text, nothing)
    assert asked == alone
    assert "would change" in str(asked[1])


def test_what_is_paused_is_left_out(both):
    def change(world):
        with spawned("pause", "file#*/a", "--for", "1h", "--reason", "x", env=world.environment()) as pausing:
            assert finish(pausing).code == 0

    asked, alone = both(TWO, change)
    until = [[line for line in each[1] if "  paused  " not in line] for each in (asked, alone)]
    assert (asked[0], asked[2], until[0]) == (alone[0], alone[2], until[1])
    assert asked[0] == 1
    assert [line.partition("until")[0] for line in asked[1] if "  paused  " in line] == [
        "file#DIR/a  paused  "
    ]
    assert "skipped  1: it is paused" in asked[1]


def test_the_last_message_is_shown_if_all_is_well(both):
    text = "ccm:\n  pre_message: before\n  post_message: after\n  resources:\n    - file:\n        - {dir}/a: {ensure: present, content: x, {own}}\n"
    asked, alone = both(text, nothing)
    assert asked == alone
    assert {"before", "after"} <= set(asked[1])


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
