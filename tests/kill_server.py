"""Processes that are killed while they converge. A server forks them, because starting an interpreter takes longer.

Here it is a `KillServer`; started as a program, this file is the other side. It reads one JSON job a line and answers
with the child's process id, and when that is dead with its wait status.
"""

import itertools
import json
import os
import signal
import subprocess
import sys

import trio
import zstandard  # noqa: F401
from line_pipe import with_deadline

import reactor.http.response  # noqa: F401 - before the fork, so that no child has to
from reactor.hostfs import fsync
from reactor.resources.archive import Archive
from reactor.resources.file import File
from reactor.resources.scaffold import Scaffold

KINDS = {"archive": Archive, "file": File, "scaffold": Scaffold}


class KillServer:
    """The server, and the one child that it has at a time."""

    def __enter__(self):
        command = [sys.executable, __file__]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._process = with_deadline(process)
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def start(self, kind, *states, endless=False, die=None):
        """Let a child converge to ``states``, each the properties of a resource, in turn; returns its process id.

        ``die`` is a function of os, which of its calls, and whether the child kills itself "before" or "after" it.
        """
        job = {"kind": kind, "states": states, "endless": endless, "die": die}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def was_killed(self):
        """Wait for the end of the child."""
        return int(self._process.stdout.readline()) == signal.SIGKILL


def serve():
    fsync._MEMORY.clear()  # an fsync is a step to die at, also where /tmp is in memory
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            if job["die"]:
                arm(*job["die"])
            trio.run(converge, KINDS[job["kind"]], job["states"], job["endless"])
            os._exit(0)
        answer(child)
        answer(os.waitpid(child, 0)[1])


def answer(number):
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def arm(name, number, when):
    function = getattr(os, name)
    calls = itertools.count(1)

    def call(*args, **options):
        is_it = next(calls) == number
        if is_it and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return function(*args, **options)
        finally:
            if is_it:
                os.kill(os.getpid(), signal.SIGKILL)

    setattr(os, name, call)


async def converge(kind, states, endless):
    for properties in itertools.cycle(states) if endless else states:
        resource = kind(**properties)
        for action in resource.plan(await resource.observe(), refresh=False):
            await action.run()
        await resource.verify()


if __name__ == "__main__":
    serve()
