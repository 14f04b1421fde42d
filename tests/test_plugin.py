"""The example of a third party's kind and watcher works, and the pages that tell how to write one show it as it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from reactor.testing.contract import CONTRACT, Case
from reactor.testing.scripted import Scripted
from reactor.testing.story import running

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / "examples" / "plugin"
sys.path.insert(0, str(PLUGIN))

from reactor_symlink.pipe import PipeWatch, PipeWatcher  # noqa: E402
from reactor_symlink.symlink import Symlink  # noqa: E402


def present(root):
    path = root / "link"

    def spoil():
        path.unlink()
        path.symlink_to("elsewhere")

    return Case(lambda: Symlink(name=str(path), target="/somewhere"), lambda: links(root), spoil)


def absent(root):
    path = root / "link"
    path.symlink_to("anywhere")
    return Case(
        lambda: Symlink(name=str(path), ensure="absent"), lambda: links(root), lambda: path.symlink_to("x")
    )


def links(root):
    return {name: os.readlink(root / name) for name in os.listdir(root)}


@pytest.mark.parametrize("case", [present, absent], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_symlink_kind_keeps_the_contract(promise, case, tmp_path):
    await promise(case(tmp_path))


async def test_a_line_in_the_pipe_is_a_check(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    resource = Scripted(name="a").watch_for(PipeWatch(str(pipe)))
    async with running(resource, watchers={PipeWatch: PipeWatcher}) as story:
        await story.converged()
        before = len(resource.script.checks)
        pipe.write_text("please\n")
        await resource.script.begun(before + 1)


@pytest.mark.parametrize(("page", "file"), [("kind", "symlink.py"), ("watcher", "pipe.py")])
def test_the_pages_show_the_example_as_it_is(page, file):
    code = (PLUGIN / "reactor_symlink" / file).read_text()
    assert f"```python\n{code}```" in (ROOT / "docs" / f"writing-a-{page}.md").read_text()
