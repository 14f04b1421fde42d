from pathlib import Path

import pytest
from git_worlds import Origin, Place


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    (tmp_path / "server").mkdir()
    return Origin(tmp_path / "server")


@pytest.fixture
def place(tmp_path: Path, origin: Origin) -> Place:
    return Place(tmp_path / "app", origin)
