from collections.abc import AsyncIterator

import pytest
from watch_recorder import Recorder, Watching, watching


@pytest.fixture
async def watch() -> AsyncIterator[Watching]:
    async with watching() as at_work:
        yield at_work


@pytest.fixture
def sink(watch: Watching) -> Recorder:
    return watch.sink
