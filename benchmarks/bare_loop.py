"""The least Python can do about N files: read, compare, write. For scale: no graph, no safety, no YAML.

usage: python bare_loop.py BASE NDIRS N
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from _harness import World, content_of


def converge(world: World) -> None:
    """Make every file as it should be."""
    for number in range(world.count):
        path, content = world.path(number), content_of(number).encode()
        try:
            with open(path, "rb") as file:
                same = file.read() == content
        except FileNotFoundError:
            same = False
        if not same:
            with open(f"{path}.tmp", "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), 0o644)
            os.rename(f"{path}.tmp", path)


if __name__ == "__main__":
    converge(World(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
