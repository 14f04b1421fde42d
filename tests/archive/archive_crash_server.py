"""A process that forks children for the crash tests: forking is quick, starting an interpreter is not.

Reads one JSON job a line: ``properties`` of an archive, which the child converges to once, and maybe ``die``: a function
of os, which of its calls, and whether the child kills itself before or after that. Answers with the child's process id,
and when it is dead with its wait status.
"""

import itertools
import json
import os
import signal
import sys

import httpx  # noqa: F401 - before the fork, so that no child has to
import trio
import zstandard  # noqa: F401

from reactor.testing.story import converge_once
from resources.archive import Archive
from resources.file import durability

durability._MEMORY.clear()  # an fsync is a step to die at, also where /tmp is in memory


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


async def converge(properties):
    await converge_once(Archive(**properties))


def answer(number):
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main():
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            if "die" in job:
                arm(*job["die"])
            trio.run(converge, job["properties"])
            os._exit(0)
        answer(child)
        answer(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main()
