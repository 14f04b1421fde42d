"""A real run that keeps one file right while something floods it, and how long it takes it at most."""

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

from turns import before_others

GUARD = 60.0
GAP = 0.004
PROBED = 60
"""Seconds between a repair and the next touch."""


class Prober:
    """Touches files that a run keeps right, one after the other; ``slowest`` is the longest that one stayed wrong.

    There are many of them: what changes again and again is a fight, which the engine slows down.
    """

    def __init__(self, paths, text):
        self.paths = paths
        self.text = text
        self.slowest = 0.0
        self.repairs = 0
        self._pause = threading.Event()

    def wait(self, path, guard=GUARD):
        """Seconds until the file is right."""
        began = time.monotonic()
        while not path.exists() or path.read_text() != self.text:
            assert time.monotonic() - began < guard, f"{path} is never repaired"
            self._pause.wait(0.0005)
        return time.monotonic() - began

    def probe(self, seconds):
        """The longest repair of some seconds."""
        slowest, end = 0.0, time.monotonic() + seconds
        for path in itertools.cycle(self.paths):
            if time.monotonic() > end:
                break
            path.write_text("wrong\n")
            slowest = max(slowest, self.wait(path))
            self.repairs += 1
            self._pause.wait(GAP)
        self.slowest = max(self.slowest, slowest)
        return slowest


def managed(path, text):
    """The properties of a file of ours."""
    owner = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}
    return {"name": str(path), "ensure": "present", "content": text, **owner}


@contextmanager
def running(tmp_path, resources, *, size=100):
    """``reactor run`` on these resources and a file that is probed; yields the prober once that was repaired first."""
    text = "right\n" * (size // 6)
    probed = [tmp_path / f"probed{number}" for number in range(PROBED)]
    manifest = tmp_path / "manifest.yaml"
    files = [{"file": managed(path, text)} for path in probed]
    manifest.write_text(json.dumps({"resources": [*files, *resources]}))
    with open(tmp_path / "output", "wb") as output:
        options = ["--format", "json", "--state-dir", tmp_path / "state"]
        command = [sys.executable, "-m", "reactor", "run", *options, manifest]
        with before_others():
            process = subprocess.Popen(command, stdout=output, stderr=output)
        prober = Prober(probed, text)
        try:
            for path in probed:
                prober.wait(path)
            prober.process = process
            yield prober
            assert process.poll() is None, (tmp_path / "output").read_text()[-3000:]
        finally:
            for _ in ("wait for", "cancel", "kill"):  # what each signal does to what runs
                process.terminate()
                time.sleep(0.1)
            process.wait(GUARD)
