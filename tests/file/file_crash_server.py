"""A process that forks children for the crash tests: forking is quick, starting an interpreter is not.

Reads one JSON job a line. A job has ``path``, ``contents``, which the child converges to in turn for ever, and
maybe ``die``: a function of os and whether the child kills itself before or after its first call of it. Answers
with the child's process id, and when it is dead with its wait status.
"""

import itertools
import json
import os
import signal
import sys

import trio
from file_worlds import converge, make

from resources.file import durability

durability._MEMORY.clear()  # an fsync is a step to die at, also where /tmp is in memory


def arm(name: str, when: str) -> None:
    function = getattr(os, name)

    def call(*args, **options):
        if when == "after":
            function(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(os, name, call)


async def rewrite(path: str, contents: list[str]) -> None:
    for content in itertools.cycle(contents):
        await converge(make(path, content=content, mode="0755"))


def answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            if "die" in job:
                arm(*job["die"])
            trio.run(rewrite, job["path"], job["contents"])
        answer(child)
        answer(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main()
