"""A daemon for the tests of this directory, which is empty before each."""

import pytest
from container_worlds import chosen_runtimes, world


@pytest.fixture(scope="session", params=chosen_runtimes())
def served(request):
    with world(request.param) as made:
        yield made


@pytest.fixture
def daemon(served):
    yield served
    served.remove_all()
