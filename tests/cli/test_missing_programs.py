"""A dry run tells of shells and programs that are named, missing, and brought by nothing."""

import json

import pytest

from reactor.cli.running.foresight import MissingPrograms
from reactor.engine.events import Ended
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.registry import find_kind

USER = "resources:\n  - user:\n      - ada: { shell: {dir}/fish }\n"
CRON = 'resources:\n  - cron:\n      - backup: { command: "{dir}/backup --all >/dev/null", schedule: "@daily" }\n'
PROVIDER = "  - file:\n      - {dir}/fish: { ensure: present, content: x, {own} }\n"


@pytest.fixture
def dry_run(reactor, manifest):
    def call(text):
        return reactor("run", "--converge-once", "--noop", manifest(text))

    return call


@pytest.mark.parametrize(
    ("text", "ref", "words"),
    [(USER, "user#ada", "the shell {}/fish"), (CRON, "cron#backup", "the program {}/backup")],
)
def test_a_program_that_is_missing_is_told_at_its_place(dry_run, tmp_path, text, ref, words):
    done = dry_run(text)
    said = f"{ref}: {words.format(tmp_path)} is not there, and no resource brings it\n"
    assert done.err == f"reactor: {tmp_path}/manifest.yaml:3:9: {said}"
    assert done.code == 0


def test_a_program_that_is_there_or_that_a_resource_brings_is_not_missing(dry_run, tmp_path):
    assert dry_run(USER + PROVIDER).err == ""
    (tmp_path / "fish").touch()
    assert dry_run(USER).err == ""


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        (["fish"], []),
        (["fish:amd64", "shells"], []),
        (["shells"], ["and no resource brings it, unless a package does"]),
        (["fish: {ensure: absent}"], ["and no resource brings it"]),
    ],
)
def test_a_package_that_is_not_there_brings_the_program_of_its_name_and_may_bring_others(
    manifest, packages, told
):
    entries = "".join(
        f"      - {each if ': ' in each else json.dumps(each) + ': {ensure: present}'}\n" for each in packages
    )
    said = []
    missing = MissingPrograms(
        load((str(manifest(f"{USER}  - package:\n{entries}")),), Inputs()).graph, said.append
    )
    missing(Ended(0.0, {}, 0, 0.0, "nothing is left to do"))
    assert [sentence.partition("is not there, ")[2] for sentence in said] == told


@pytest.mark.parametrize(
    ("command", "more", "first"),
    [
        ("/opt/backup 'a b'", {}, "/opt/backup"),
        ("backup --all", {}, "/usr/local/sbin/backup"),
        ("/opt/backup>>/var/log/backup", {"shell": True}, "/opt/backup"),
        ("cd /srv && ./backup", {"shell": True}, None),
        ("$HOME/backup", {"shell": True}, None),
        ("[ -e /run/off ] || /opt/backup", {"shell": True}, None),
    ],
)
def test_a_timer_names_the_program_that_its_command_begins_with(command, more, first):
    properties = {"name": "backup", "on_calendar": "daily", "command": command, **more}
    names = find_kind("timer").model_validate(properties).relations().names
    assert [program.paths[0] for program in names] == ([] if first is None else [first])
