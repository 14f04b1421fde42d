"""Paths that chattr(1) makes immutable for a while."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager


@contextmanager
def immutable(path):
    """Nothing at ``path`` can be changed; for a directory, nothing is made or removed in it."""
    subprocess.run(["chattr", "+i", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)
