import pytest


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    return path
