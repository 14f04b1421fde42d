"""One-shot runs beside an active run, and the same ones alone: both must show the same."""

import os
import signal
from contextlib import contextmanager

import pytest
from files_of_cli import put
from processes_of_cli import environment, finish, spawned, untimed, up_to, wait_until, with_constant

from reactor.journal.state_directory import SOCKET_FILE

IN_ORDER = "settings: {ordering: manifest}\nresources:\n"
TWO = (
    IN_ORDER
    + "  - file:\n      - {dir}/a: {ensure: present, content: one, {own}}\n      - {dir}/b: {ensure: present, content: two, {own}}\n"
)
UNSEEN = IN_ORDER + "  - exec:\n      - touch {dir}/made: {unless: test -e {dir}/made}\n"
"""What undoes it has no event: only a check finds it."""

NEVER_BY_ITSELF = with_constant("reactor.cli.running.reloading", "SETTLE", 3600.0)
"""The program of an active run that reloads its manifest only when it is asked."""


class AskedWorld:
    """A directory with a manifest, which an active run may have applied."""

    def __init__(self, directory, text):
        self.directory = directory
        directory.mkdir()
        self.manifest = directory / "site.yaml"
        self.state = directory / "state"
        self.write(text)

    def write(self, text):
        """Write another version of the manifest."""
        own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0644"'
        put(self.manifest, text.replace("{dir}", str(self.directory)).replace("{own}", own))

    @contextmanager
    def active(self, *args, program=NEVER_BY_ITSELF, until="converged", **variables):
        """The active run, once it has done its work."""
        words = ("run", "--format", "json", *args, self.manifest)
        with spawned(*words, program=program, env=self.environment(**variables)) as process:
            events = up_to(process, until)
            wait_until((self.state / SOCKET_FILE).exists)  # a run may converge before it can be asked
            process.before = events
            yield process

    def environment(self, **variables):
        return environment(REACTOR_STATE_DIR=str(self.state), **variables)

    def once(self, *args, **variables):
        """A one-shot run; its output without what differs each time."""
        with spawned(*self.words(*args), env=self.environment(**variables)) as process:
            return self.comparable(finish(process))

    def once_in_this_process(self, reactor, *args):
        """The same by the fixture: for a run that no other process does."""
        return self.comparable(self.in_this_process(reactor, *self.words(*args)))

    def in_this_process(self, reactor, *words):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REACTOR_STATE_DIR", str(self.state))
            return reactor(*words)

    def words(self, *args):
        return ("run", "--converge-once", *args, self.manifest)

    def comparable(self, done):
        return done.code, self._comparable(done.out), self._comparable(done.err)

    def _comparable(self, text):
        # An excerpt of a manifest shows only the end of a path.
        lines = (
            text.replace(str(self.directory), "DIR").replace(f"/{self.directory.name}/", "/DIR/").splitlines()
        )
        return [untimed(line) for line in lines]


def end(process):
    """End an active run."""
    process.send_signal(signal.SIGTERM)
    return finish(process)


def children_of(pid):
    """The children of a process."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()
