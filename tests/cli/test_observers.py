"""What looks on a run has no say in it."""

import os

from reactor.cli.running.engine_run import RunServices, converge
from reactor.console.display import Display
from reactor.engine.options import RunOptions
from reactor.resources.file import File
from reactor.testing.story import graph_of


class Broken:
    """An onlooker with a bug."""

    def __init__(self):
        self.heard = []

    def __call__(self, event):
        self.heard.append(event)
        raise KeyError("what it counts by")


def test_an_onlooker_with_a_bug_is_left_out_and_the_run_goes_on(tmp_path, capfd):
    owned = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644", "content": "x"}
    files = [File(name=f"{tmp_path}/{name}", ensure="present", **owned) for name in "ab"]
    broken = Broken()
    display = Display("text", resources=2, continuous=False)
    ended, _ = converge(graph_of(files), RunOptions(watch=False), display, RunServices(tally=broken))
    display.flush()
    assert ended.counts["changed"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert len(broken.heard) == 1
    told = capfd.readouterr().err
    assert told.count("\n") == 1
    assert "the Broken of this run failed and gets no more events: KeyError: 'what it counts by'" in told
