import pytest
from nats_servers import NatsServer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server with JetStream for the tests of a module."""
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        yield running
