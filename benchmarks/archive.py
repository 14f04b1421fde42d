"""An archive of 1 GB, fetched from a server on loopback and unpacked: the memory it takes, and the time beside curl and tar.

The archive holds 100 files that compress a little. The server is a process of its own. `--dir` says where all of it goes:
three times the size is needed.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from _harness import REACTOR, Row, arguments, child_environment, progress, show, workspace

FILES = 100
MIB = 1 << 20


def pack(path: Path, size: int) -> None:
    """Write the archive: half of it zeros, half noise."""
    noise = os.urandom(MIB // 2) + bytes(MIB // 2)
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        for number in range(FILES):
            info = tarfile.TarInfo(f"data/f{number:03d}")
            info.size = size // FILES
            tar.addfile(info, io.BytesIO(noise * (info.size // MIB + 1)))


@contextlib.contextmanager
def served(directory: Path) -> Iterator[str]:
    """The URL of the directory, served by another process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "http.server",
        "--bind",
        "127.0.0.1",
        "--directory",
        directory,
        str(port),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def write_manifest(path: Path, space: Path, url: str) -> None:
    """The manifest of the archive."""
    properties = {
        "ensure": "present", "url": url, "owner": os.getuid(), "group": os.getgid(),
        "extract_parent": f"{space}/ours", "creates": f"{space}/ours/data/f{FILES - 1:03d}",
    }  # fmt: skip
    lines = [f"          {name}: '{value}'" for name, value in properties.items()]
    path.write_text("\n".join(["resources:", "  - archive:", f"      - {space}/ours.tar.gz:", *lines]) + "\n")


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds, and the most memory in MiB that the process had."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=child_environment(), stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _high_water(process.pid))
        time.sleep(0.01)
    assert process.returncode == 0, command
    return time.perf_counter() - start, peak / 1024


def _high_water(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    size = (100 if options.quick else 1000) * MIB
    with workspace(options.dir) as space:
        (space / "served").mkdir()
        progress("packing")
        pack(space / "served/data.tar.gz", size)
        with served(space / "served") as base:
            url = f"{base}/data.tar.gz"
            manifest = space / "manifest.yaml"
            write_manifest(manifest, space, url)
            progress("reactor")
            taken, peak = measured([REACTOR, "run", "--converge-once", str(manifest)])
            progress("curl and tar")
            theirs = f"mkdir {space}/theirs && curl -sSf -o {space}/t.tar.gz {url} && tar -xzf {space}/t.tar.gz -C {space}/theirs"
            floor, _ = measured(["sh", "-c", f"{theirs} && sync"])
    show(
        f"archive: {size // MIB} MiB unpacked, tar.gz",
        [Row("most memory", peak, "MiB", 200), Row("fetched and unpacked", taken, "s", None, floor)],
        against="curl, tar",
    )


if __name__ == "__main__":
    main()
