"""Every test of exec leaves the process table and the descriptors as it found them."""

import gc
import os
from pathlib import Path

import pytest

from reactor.resources.process.reaper import ensure_reaper


def _children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


@pytest.fixture(autouse=True, scope="session")
def _the_guardian_stays():
    """It is started with the first command, for all that follow."""
    ensure_reaper()


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    gc.collect()  # what tests before this one have left is not to go meanwhile
    descriptors, others = set(Path("/proc/self/fd").iterdir()), _children()
    yield
    assert [child for child in _children() - others if _state(child) == "Z"] == []
    assert set(Path("/proc/self/fd").iterdir()) <= descriptors, "servers of other tests may end meanwhile"
