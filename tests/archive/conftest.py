import pytest
from archive_server import archive_server


@pytest.fixture
def server():
    with archive_server() as server:
        yield server
