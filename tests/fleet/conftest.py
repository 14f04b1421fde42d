import pytest
from nats_servers import NatsServer
from ssh_hosts import ssh_world


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server with JetStream for the tests of a module."""
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A world without hosts; each module starts its own."""
    with ssh_world(tmp_path_factory.mktemp("ssh")) as made:
        yield made
