"""A container for quadlet, its file, and what a run does about it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

from unit_worlds import systemctl

from reactor.resources.quadlet import Quadlet

NAME, UNIT = "matrixquadlet", "matrixquadlet.service"
FILE = Path(f"/etc/containers/systemd/{NAME}.container")
IMAGE = "docker.io/library/nginx:1.27"


@contextmanager
def no_file_stays():
    """Remove the file and its unit at the end."""
    yield
    FILE.unlink(missing_ok=True)
    if systemctl("show", "--value", "--property=LoadState", UNIT) != "not-found":
        systemctl("daemon-reload")


def made(**more):
    return Quadlet(**{"name": NAME, "image": IMAGE, "ensure": "stopped", **more})
