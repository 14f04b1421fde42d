import pytest
from archive_server import ArchiveServer


@pytest.fixture
def server():
    with ArchiveServer() as server:
        yield server
