"""Tries mutants in one clone, with a forge that stays."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from choosing import Choice
from workshop import HERE

_TIMEOUT = 5.0
"""How many times longer than recorded tests may take."""
_START_SECONDS = 90.0
"""What a pytest takes to begin, on a busy machine."""


class Bench:
    """A clone and the process that runs tests in it."""

    def __init__(self, clone: Path) -> None:
        self.clone = clone
        self._good: set[str] = set()
        self._bad: set[str] = set()
        # No bytecode: a mutant written within a second of the last, and as long, would be taken for it.
        variables = {key: value for key, value in os.environ.items() if key != "CI"}
        self._forge = subprocess.Popen(
            [clone / ".venv/bin/python", HERE / "forge.py"],
            cwd=clone, env=variables | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def close(self) -> None:
        """End the process."""
        self._forge.communicate()

    def attempt(self, mutant: dict[str, Any], choice: Choice) -> dict[str, Any]:
        """How the tests take the mutant.

        It is `killed`, `hung` or `survived`; `untested`, where there are no tests; `unclear`, where they do not come to an end
        without it either.
        """
        began = time.monotonic()
        ending, by = "untested", ""
        tests = [test for test in choice.tests if test not in self._bad]
        while tests:
            with self._mutated(mutant):
                ending, by = self._ask(tests, choice.seconds)
            if ending != "failed" or self._is_good(by, tests):
                break
            tests = [test for test in tests if test not in self._bad]
            ending, by = "untested", ""
        if ending == "hung" and self._ask(tests, choice.seconds)[0] != "passed":
            ending = "unclear"  # the machine is too busy
        ending = {"passed": "survived", "failed": "killed"}.get(ending, ending)
        told = {key: mutant[key] for key in ("key", "module", "was", "became")}
        return told | {
            "ending": ending, "by": by, "of": choice.of, "tests": len(tests), "seconds": time.monotonic() - began,
        }  # fmt: skip

    def _is_good(self, test: str, tests: list[str]) -> bool:
        """Whether ``test``, which failed, passes without the mutant.

        A pytest that gives up before it runs a test names none. Then it must be able to begin without the mutant, or nothing
        is proved: raises RuntimeError.
        """
        if not test:
            ending, _ = self._ask(["--collect-only", *tests], 0)
            if ending != "passed":
                raise RuntimeError(f"pytest can't begin in {self.clone}, without any mutant: {ending}")
            return True
        if test not in self._good:
            (self._good if self._ask([test], 0)[0] == "passed" else self._bad).add(test)
        return test in self._good

    def _ask(self, tests: list[str], seconds: float) -> tuple[str, str]:
        if self._forge.stdin is None or self._forge.stdout is None:
            raise AssertionError("they were asked for")
        request = {"tests": tests, "seconds": _START_SECONDS + _TIMEOUT * seconds}
        self._forge.stdin.write(json.dumps(request) + "\n")
        self._forge.stdin.flush()
        answer = json.loads(self._forge.stdout.readline())
        return answer["ending"], answer["failed"]

    @contextmanager
    def _mutated(self, mutant: dict[str, Any]) -> Iterator[None]:
        path = self.clone / mutant["module"]
        text, found = path.read_text(), path.stat()
        path.write_text(mutant["source"])
        try:
            yield
        finally:
            path.write_text(text)
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
            Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
