import pytest
from archive_server import ArchiveServer

from reactor.resource.keeping import keeping_state_in


@pytest.fixture
def server():
    with ArchiveServer() as server:
        yield server


@pytest.fixture(autouse=True)
def records(tmp_path_factory):
    """A state directory: what is recorded of an archive is kept there."""
    with keeping_state_in(str(tmp_path_factory.mktemp("records"))):
        yield
