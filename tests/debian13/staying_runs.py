"""A continuous ``reactor run`` while a test changes the world."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def staying(tmp_path, declared):
    """``reactor run`` with the resources ``declared``, until the end of the block; yields the file of its manifest."""
    file = tmp_path / "site.yaml"
    declare(file, declared)
    command = [Path(sys.executable).with_name("reactor"), "run", "--state-dir", tmp_path / "state", file]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield file
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(60)
        sys.stdout.write((tmp_path / "log").read_text())


def declare(file, declared):
    """Replace the manifest."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"resources": list(declared)}))
    new.rename(file)


def wait_for(wrong, longest=60.0):
    """Wait until nothing is wrong; the seconds that it took."""
    start = time.monotonic()
    while True:
        try:
            fault = wrong()
        except (OSError, AssertionError) as error:
            fault = repr(error)
        if not fault:
            return time.monotonic() - start
        assert time.monotonic() < start + longest, fault
        time.sleep(0.05)
