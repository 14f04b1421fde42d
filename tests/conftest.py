import pytest


@pytest.fixture(autouse=True)
def state_directory(tmp_path_factory, monkeypatch):
    """Each test keeps state in a directory of its own, and so do the processes it starts."""
    directory = tmp_path_factory.mktemp("state") / "reactor"
    monkeypatch.setenv("REACTOR_STATE_DIR", str(directory))
    return directory
