import pytest
from archive_server import archive_server

from reactor.resource import secrecy


@pytest.fixture
def server():
    with archive_server() as server:
        yield server


@pytest.fixture(autouse=True)
def no_secrets_stay():
    yield
    secrecy.forget_all()
