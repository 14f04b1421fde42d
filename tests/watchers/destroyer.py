"""Does random damage to the tree of test_inotify_enforced, as a process of its own: SEED BASE PATH..."""

import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

OPERATIONS = 300


def overwrite(path: Path, _directory: Path, _base: Path) -> None:
    path.write_text("junk")


def unlink(path: Path, _directory: Path, _base: Path) -> None:
    path.unlink()


def move_away(path: Path, _directory: Path, base: Path) -> None:
    path.rename(base / "away")


def chmod(path: Path, _directory: Path, _base: Path) -> None:
    path.chmod(0o600)


def replace_by_directory(path: Path, _directory: Path, _base: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_symlink(path: Path, _directory: Path, _base: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def remove_tree(_path: Path, directory: Path, _base: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)


def rename_directory(_path: Path, directory: Path, base: Path) -> None:
    directory.rename(base / f"gone{random.random()}")


def replace_directory(path: Path, directory: Path, base: Path) -> None:
    rename_directory(path, directory, base)
    directory.mkdir(parents=True)


def rename_there_and_back(_path: Path, directory: Path, base: Path) -> None:
    directory.rename(base / "briefly")
    (base / "briefly").rename(directory)


def repoint(_path: Path, _directory: Path, base: Path) -> None:
    (base / "current").unlink()
    (base / "current").symlink_to(random.choice(("releases/one", "releases/two")))


def hold_queue(_path: Path, _directory: Path, _base: Path) -> None:
    time.sleep(random.random() * 0.003)


HARMS: tuple[Callable[[Path, Path, Path], None], ...] = (
    *(overwrite, unlink, move_away, chmod, replace_by_directory, replace_by_symlink) * 2,
    *(remove_tree, rename_directory, replace_directory, rename_there_and_back, repoint),
    *(hold_queue,) * 4,
)


def main(seed: str, base: str, *paths: str) -> None:
    random.seed(int(seed))
    directories = sorted(
        {parent for path in paths for parent in Path(path).parents if base < os.fspath(parent)}
    )
    for _ in range(OPERATIONS):
        with suppress(OSError):  # what is to be damaged may be missing
            random.choice(HARMS)(Path(random.choice(paths)), random.choice(directories), Path(base))


if __name__ == "__main__":
    main(*sys.argv[1:])
