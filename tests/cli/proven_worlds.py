"""One-shot runs that are proven to have nothing to do: a world that a run has left as desired, and what a run says of it."""

import json
import os
import time
from contextlib import closing, suppress
from pathlib import Path
from site import getsitepackages
from sqlite3 import connect

from files_of_cli import put
from processes_of_cli import GUARD, spawned, untimed, wait_until

import reactor
from reactor.cli.plain_run import PlainRun
from reactor.cli.running import run_proof
from reactor.cli.running.proof import read_proof, write_proof
from reactor.journal.state_directory import PROOF_FILE

OWN = f'owner: "{os.getuid()}", group: "{os.getgid()}"'
TEXT = f"""
resources:
  - file:
      - {{dir}}/managed/a: {{ensure: present, content: one, mode: "0644", {OWN}}}
      - {{dir}}/managed/copy: {{ensure: present, source: source, mode: "0600", {OWN}}}
      - {{dir}}/managed/plain: {{ensure: present, mode: "0640", {OWN}}}
      - {{dir}}/managed/inner: {{ensure: directory, mode: "0755", {OWN}}}
  - exec:
      - touch {{dir}}/made/x: {{creates: {{dir}}/made/x}}
      - sh -c 'echo ran >> {{dir}}/made/log': {{refreshonly: true, subscribe: ["file#{{dir}}/managed/a"]}}
"""
RESOURCES = 6
_OLD = 0.05
"""Seconds after which a stamp certainly shows a later change."""
_BEFORE_START = 0.15
"""Seconds before the start of a run that its code must have been there, so that it certainly runs the present one."""
PYTHON = ("-S", "-P")
"""Without `site`, which would add the checkout to the search path: whatever is made in it, by anybody, is a change of code."""
_PROGRAM = (*PYTHON, "-X", "importtime", "-m", "reactor")
_CHECKOUT = Path(reactor.__file__).parents[1]


class ProvenWorld:
    """A directory with a manifest, and all that it manages. ``session`` stands in for the identity of a process.

    Its runs find reactor through a link in ``code``, where nobody else makes anything.
    """

    session = "session"

    def __init__(self, directory, text=TEXT):
        self.directory = directory
        self.managed = directory / "managed"
        self.state = directory / "state"
        self.manifest = directory / "site.yaml"
        self.code = directory / "code"
        for each in (self.managed, directory / "made", self.code):
            each.mkdir(parents=True)
        (self.code / "reactor").symlink_to(_CHECKOUT / "reactor")
        (directory / "source").write_text("copied\n")
        self.write(text)
        self.settle(_BEFORE_START)

    def write(self, text):
        """Write another version of the manifest."""
        put(self.manifest, text.replace("{dir}", str(self.directory)))

    def settle(self, seconds=_OLD):
        """Wait until all stamps certainly show a later change: nothing has changed for so many ``seconds``."""
        wait_until(lambda: time.time() - max(_times_below(self.directory)) > seconds)

    def started(self, *args, program=_PROGRAM, env=(), **options):
        """A one-shot run that has begun."""
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "TERM": "xterm",
            "PYTHONPATH": os.pathsep.join([str(self.code), *getsitepackages()]),
            "REACTOR_STATE_DIR": str(self.state),
        }
        given = {"env": {**variables, **dict(env)}, "cwd": self.directory}
        return spawned("run", "--converge-once", *args, self.manifest, program=program, **given, **options)

    def run(self, *args, **options):
        """A one-shot run: whether it was proven, and its code and output without what differs each time."""
        with self.started(*args, **options) as process:
            out, err = process.communicate(timeout=GUARD)
        errors = [line for line in err.decode().splitlines() if not line.startswith("import time:")]
        shown = [untimed(line) for line in (out or b"").decode().splitlines()]
        return b"trio" not in err, (process.returncode, shown, errors)

    def proves(self):
        """Whether the next run is proven, as this process finds out."""
        asked = PlainRun((str(self.manifest),), form="json")
        return run_proof.report_proven(asked, str(self.state)) is not None

    @property
    def proof(self):
        """The file of the proof."""
        return self.state / PROOF_FILE

    def change_proof(self, **values):
        """Change fields of the proof."""
        state = str(self.state)
        write_proof(state, json.dumps({**json.loads(read_proof(state)), **values}))


def restamp(world):
    """Let the proof hold again after a change was undone, which leaves other stamps."""
    stamps = json.loads(read_proof(str(world.state)).decode())["stamps"]
    world.change_proof(stamps={path: [*run_proof.stamp_of(os.lstat(path))] for path in stamps})


def _times_below(directory):
    yield directory.stat().st_ctime
    for each in directory.rglob("*"):
        with suppress(FileNotFoundError):
            yield each.lstat().st_ctime


def tables_of(world):
    """The journal without times: all rows of all tables."""
    with closing(connect(world.state / "journal.sqlite")) as connection:
        names = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"
            )
        ]
        return {
            name: [_without_times(row) for row in connection.execute(f"SELECT * FROM {name}")]
            for name in names
        }


def _without_times(row):
    return [untimed(each) if isinstance(each, str) else each for each in row if not isinstance(each, float)]
