from collections.abc import Iterator

import pytest
from network_worlds import Namespace, namespace


@pytest.fixture
def world() -> Iterator[Namespace]:
    """A namespace with a veth pair: v0 is up, and so is v1."""
    with namespace() as found:
        found.run(
            """
            link add v0 type veth peer name v1
            link set v0 up
            link set v1 up
            """
        )
        yield found
