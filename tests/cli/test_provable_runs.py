"""Which manifests a proof may do the work of: those that depend on nothing but a few paths."""

import subprocess
import sys

from proven_worlds import OWN

PLAIN = f'file: [D/x: {{ensure: present, content: one, mode: "0644", {OWN}}}]'
CAN_PROVE = {
    "a file": PLAIN,
    "a command that creates": "exec: [touch D/y: {creates: D/y}]",
    "a directory": PLAIN.replace("present, content: one", "directory"),
    "a command for a refresh": f"{PLAIN}}}, {{exec: [touch D/y: {{refreshonly: true, subscribe: ['file#D/x']}}]",
    "an order": f"{PLAIN}}}, {{exec: [touch D/y: {{creates: D/y, require: ['file#D/x'], alias: y}}]",
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
    "a link": "file: [D/x: {ensure: link, target: /etc}]",
    "no file": "file: [D/x: {ensure: absent}]",
    "a command in each run": "exec: [touch D/x: {}]",
    "a guard": "exec: [touch D/x: {creates: D/x, unless: 'true'}]",
    "what a shell would do": "exec: [touch D/x > D/y: {creates: D/x}]",
    "another kind": f"{PLAIN}}}, {{cron: [x: {{user: root, command: 'true', minute: 1}}]",
}
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
