"""A command that outlives us writes to files, and is heard all the same."""

import os

import pytest
import trio
from test_exec_process import ALIVE, Lines, living, run_out_of_time, sh

from reactor.resources.process import run


@pytest.fixture(autouse=True)
async def _watchdog():
    with trio.fail_after(ALIVE):
        yield


async def test_its_lines_arrive_while_it_runs_and_its_outputs_are_kept_apart(tmp_path):
    lines = Lines()
    command = sh(
        f"echo out; echo err >&2; until test -e {tmp_path}/go; do sleep 0.02; done; echo last; exit 3",
        is_protected=True,
    )
    async with trio.open_nursery() as nursery:

        async def ended():
            done = await run(command, lines)
            assert done[:3] == (3, "out\nlast\n", "err\n")

        nursery.start_soon(ended)
        while sorted(lines) != ["err", "out"]:
            await trio.lowlevel.checkpoint()
        (tmp_path / "go").touch()
    assert lines[-1] == "last"


async def test_a_script_that_opens_stderr_again_loses_nothing_of_what_follows():
    done = await run(sh("echo first >/dev/stderr; echo second >&2; echo third >&2", is_protected=True))
    assert done.stderr.endswith("second\nthird\n")


async def test_what_it_has_left_running_neither_holds_us_nor_fills_the_memory(tmp_path):
    await run(sh(f"(yes; touch {tmp_path}/refused) 2>/dev/null & :", is_protected=True))
    while not (tmp_path / "refused").exists():
        await trio.lowlevel.checkpoint()


async def test_it_is_ended_like_any_other_when_its_time_is_over(mock_clock):
    script = "sleep 60 & echo $$; echo ready; sleep 60"
    error, pid, _ = await run_out_of_time(script, mock_clock, is_protected=True)
    assert error.startswith("timed out after 30s")
    assert living(pid) == []
    assert not os.path.exists(f"/proc/{pid}")
