import pytest
from ssh_hosts import ssh_world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A world without hosts; each module starts its own."""
    with ssh_world(tmp_path_factory.mktemp("ssh")) as made:
        yield made
