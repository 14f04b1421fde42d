"""Programs that make the worlds of cells, and judge them."""

from __future__ import annotations

import subprocess


def must(*words: object, text: str | None = None) -> str:
    """What a program writes that has to succeed."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, input=text)
    assert done.returncode == 0, f"{words}: {done.stderr or done.stdout}"
    return done.stdout


def said(*words: object) -> str:
    """What a program writes, however it ends; without the end of the line."""
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False).stdout.strip()
