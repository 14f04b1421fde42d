"""Only a manifest that depends on nothing but a few paths can be proven."""

import os
import shutil
import subprocess
import sys
from base64 import b64encode

import click
import pytest
from proven_worlds import OWN

from reactor.cli.asking import inputs_of
from reactor.cli.options.inputs import manifests_argument
from reactor.cli.plain_run import plain_run

PLAIN = f'file: [D/x: {{ensure: present, content: one, mode: "0644", {OWN}}}]'
KEY = f"ssh-ed25519 {b64encode(bytes((0, 0, 0, 11)) + b'ssh-ed25519' + bytes((0, 0, 0, 32)) + bytes(32)).decode()}"
CAN_PROVE = {
    "a file": PLAIN,
    "a command that creates": "exec: [touch D/y: {creates: D/y}]",
    "a directory": PLAIN.replace("present, content: one", "directory"),
    "a command for a refresh": f"{PLAIN}}}, {{exec: [touch D/y: {{refreshonly: true, subscribe: ['file#D/x']}}]",
    "an order": f"{PLAIN}}}, {{exec: [touch D/y: {{creates: D/y, require: ['file#D/x'], alias: y}}]",
    "a link": "file: [D/x: {ensure: link, target: /etc}]",
    "no file": "file: [D/x: {ensure: absent}]",
    "an account": "user: [root: {shell: /bin/sh, manage_home: true}, none: {ensure: absent, manage_home: true}]",
    "a job of root": "cron: [x: {user: root, command: 'true', minute: 1}]",
    "no package": "package: [none: {ensure: absent, provider: apt}]",
    "a name of root": PLAIN.replace(OWN, "owner: root, group: root"),
}
CAN_NOT_PROVE = {
    "a fact": PLAIN.replace("one", '"{{ Facts.host.info.hostname }}"'),
    "the environment": PLAIN.replace("one", '"${ Environ.HOME }"'),
    "an expression in escapes": PLAIN.replace("one", r'"\x7b{ 1 + 1 }}"'),
    "a condition": PLAIN.replace("one", "one, control: {if: 'true'}"),
    "a health check": PLAIN.replace("one", "one, health_checks: [{command: 'true'}]"),
    "meta": PLAIN.replace("one", "one, meta: {noop: true}"),
    "a validator": PLAIN.replace("one", "one, validate: 'true {path}'"),
    "a special bit": PLAIN.replace("one", "one, setgid: false"),
    "an owner by name": PLAIN.replace(OWN, "owner: daemon, group: root"),
    "a command in each run": "exec: [touch D/x: {}]",
    "a guard": "exec: [touch D/x: {creates: D/x, unless: 'true'}]",
    "what a shell would do": "exec: [touch D/x > D/y: {creates: D/x}]",
    "a kind that asks the kernel": f"{PLAIN}}}, {{sysctl: [vm.swappiness: {{value: 10}}]",
    "a user of a directory service": "user: [none: {shell: /bin/sh}]",
    "a job of a name": "cron: [x: {user: daemon, command: 'true', minute: 1}]",
    "keys elsewhere": f"authorized_key: [x: {{user: root, path: D/x, key: {KEY}}}]",
    "the latest package": "package: [none: {ensure: latest, provider: apt}]",
    "a virtual package": "package: [none: {ensure: present, provider: apt}]",
    "a package of dnf": "package: [none: {ensure: absent, provider: dnf}]",
}
MANIFEST_COMMAND = click.command(manifests_argument(lambda manifests: None))
JUDGE = """
import os, sys
from reactor.cli.running.run_evidence import NotProvableError, provable_states
from reactor.facts.facts import Facts
from reactor.loading import load
from reactor.manifest.inputs import Inputs
first, second, *paths = sys.argv[1:]


def read(*paths):
    return load(paths, Inputs(Facts({}, parse=lambda *_: {}, where=()), os.environ))


read(first, second)  # builds the models, once for all
for path in (first, second, *paths):
    if (child := os.fork()) == 0:
        code = 1
        try:
            provable_states(read(path), [path])
            code = 0
        except NotProvableError:
            code = 3
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_which_manifests_can_be_proven(tmp_path):
    """Each is loaded by a process of its own, since what was imported tells what a manifest has."""
    expected = {**dict.fromkeys(CAN_PROVE, 0), **dict.fromkeys(CAN_NOT_PROVE, 3)}
    paths = []
    for number, text in enumerate((CAN_PROVE | CAN_NOT_PROVE).values()):
        paths.append(tmp_path / f"{number}.yaml")
        paths[-1].write_text(f"resources: [{{{text}}}]\n".replace("D/", f"{tmp_path}/"))
    words = [sys.executable, "-P", "-c", JUDGE, *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60)
    assert dict(zip(expected, map(int, done.stdout.split()), strict=True)) == expected, done.stderr


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """A directory with a symlink that leads into another one; both have a manifest of that name beside."""
    for name in ("here", "there/inner"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("here", "there"):
        (tmp_path / name / "site.yaml").write_text(f"resources: [{{exec: [touch {name}: {{creates: /}}]}}]\n")
    (tmp_path / "here/link").symlink_to("../there/inner")
    (tmp_path / "here/directory").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def test_a_name_that_leads_elsewhere_than_its_text_is_not_plain(beside):
    assert plain_run(["--converge-once", "link/../site.yaml"]) is None
    for name in ("directory/../site.yaml", "../here/site.yaml", "link/../none.yaml"):
        assert plain_run(["--converge-once", name]) is not None


def test_every_command_takes_it_for_the_file_that_is_read(beside):
    with MANIFEST_COMMAND.make_context("any", ["link/../site.yaml"]) as context:
        assert context.params["manifests"] == (str(beside / "there/site.yaml"),)
    assert inputs_of(("link/../site.yaml",), {})["MANIFEST"] == [str(beside / "there/site.yaml")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_manifest_that_is_mounted_from_another_file_system_is_never_proven(tmp_path):
    script = f"""
    mkdir {tmp_path}/other && mount -t tmpfs none {tmp_path}/other && cd {tmp_path}
    echo 'resources: [{{exec: [touch x: {{creates: /}}]}}]' | tee site.yaml > other/site.yaml
    [ -z "$MOUNTED" ] || mount --bind other/site.yaml site.yaml
    sleep 0.1
    {sys.executable} -P -m reactor run --converge-once --state-dir state site.yaml && ls state
    """
    for mounted, is_proven in (("", True), ("yes", False)):
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-euc", script],
            env={"PATH": os.environ["PATH"], "MOUNTED": mounted}, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert ("proof.json" in done.stdout) is is_proven
        shutil.rmtree(tmp_path / "state")
        (tmp_path / "other").rmdir()
