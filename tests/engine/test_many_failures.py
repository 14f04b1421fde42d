"""A dry run of thousands of resources that miss the same: judged by processor time, beside the same run for real."""

from __future__ import annotations

import os
import time

import pytest

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.testing.story import converge_once

COUNT = 2500
MOST = 5.0
"""How much more the dry run may take. It took fifteen times as much when each failure was compared with each resource."""


def files(directory):
    own = {"owner": str(os.getuid()), "group": str(os.getgid())}
    return [
        File(name=f"{directory}/missing/{n}", ensure="present", content="", mode="0644", **own)
        for n in range(COUNT)
    ]


async def seconds(resources, *, noop):
    start = time.process_time()
    ended, story = await converge_once(*resources, options=RunOptions(noop=noop))
    return time.process_time() - start, ended, story


@pytest.mark.parametrize("beside", ["nothing", "a command"])
async def test_a_dry_run_takes_no_longer_the_more_resources_miss_the_same(tmp_path, beside):
    others = [] if beside == "nothing" else [Exec(name="make", command="/bin/true")]
    for_real, ended, _ = await seconds([*others, *files(tmp_path)], noop=False)
    assert ended.counts[Result.FAILED] == COUNT
    dry, ended, _ = await seconds([*others, *files(tmp_path)], noop=True)
    assert ended.counts[Result.FAILED] == COUNT
    assert dry < MOST * for_real
