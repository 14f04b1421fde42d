"""Real containers of podman in a real systemd, and an image that is made on the spot."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from programs import must, said

IMAGE, OTHER_IMAGE = "localhost/box:1", "localhost/box:2"
PROGRAM = "trap 'exit 0' TERM; httpd -p 80 -h /srv; while :; do sleep 1000 & wait $!; done"
"""Serves `/srv` at port 80, until it is told to end."""
COMMAND = ["/bin/sh", "-c", PROGRAM]
DIRECTORY = Path("/etc/containers/systemd")


def make_podman_ready() -> None:
    """Let podman work in namespaces, and make the images."""
    # The controllers of cgroups belong to the machine; and an overlay can't be above an overlay.
    Path("/etc/containers/containers.conf").write_text("[containers]\npids_limit = 0\n")
    must("mount", "-t", "tmpfs", "tmpfs", "/var/lib/containers")
    must("systemctl", "start", "podman.socket")
    for tag in ("1", "2"):
        _import_image(Path("/run/box"), tag)


def _import_image(place: Path, tag: str) -> None:
    for name in ("bin", "srv"):
        (place / name).mkdir(parents=True, exist_ok=True)
    must("cp", "/usr/bin/busybox", place / "bin")
    for name in ("sh", "sleep", "httpd"):
        must("ln", "-sf", "busybox", place / "bin" / name)
    (place / "srv" / "index.html").write_text(tag)
    packed = subprocess.run(["tar", "-C", place, "-c", "."], capture_output=True, check=True).stdout
    subprocess.run(
        ["podman", "import", "-q", "-", f"localhost/box:{tag}"], input=packed, check=True, capture_output=True
    )


def inspect(name: str) -> dict[str, object] | None:
    """The container; None if there is none."""
    found = json.loads(said("podman", "container", "inspect", name) or "[]")
    return found[0] if found else None


def shown(unit: str, name: str) -> str:
    """A property of a unit."""
    return must("systemctl", "show", "--value", f"--property={name}", unit).strip()


def settled(unit: str) -> bool:
    """Whether systemd is done with the unit."""
    return shown(unit, "ActiveState") in ("active", "inactive", "failed") and not shown(unit, "Job").strip(
        "0"
    )


def remove_all(*names: str) -> None:
    """Remove containers of those names, their units, and all networks that were made."""
    for name in names:
        said("systemctl", "stop", f"{name}.service")
        (DIRECTORY / f"{name}.container").unlink(missing_ok=True)
        said("podman", "rm", "-f", "-t", "0", "-i", name)
    for network in said("podman", "network", "ls", "-q").split():
        if network != "podman":
            must("podman", "network", "rm", "-f", "-t", "0", network)
    must("systemctl", "daemon-reload")
    said("systemctl", "reset-failed")


def leftovers() -> list[str]:
    """All containers, made networks, and files of quadlet."""
    containers = said("podman", "ps", "-a", "--format", "{{.Names}}").split()
    networks = [
        each for each in said("podman", "network", "ls", "--format", "{{.Name}}").split() if each != "podman"
    ]
    files = [str(each) for each in DIRECTORY.glob("*.container*")] if DIRECTORY.is_dir() else []
    return [*containers, *networks, *files]
