"""The example of a third party's kind and watcher works, and the pages that tell how to write one show it as it is."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from reactor.testing.contract import CONTRACT, Case
from reactor.testing.scripted import Scripted
from reactor.testing.story import converge_once, running

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / "examples" / "plugin"
sys.path.insert(0, str(PLUGIN))

from reactor_symlink.authorized_keys import AuthorizedKeys  # noqa: E402
from reactor_symlink.pipe import PipeWatch, PipeWatcher  # noqa: E402
from reactor_symlink.symlink import Symlink  # noqa: E402


def present(root):
    path = root / "link"

    def spoil():
        path.unlink()
        path.symlink_to("elsewhere")

    return Case(
        lambda: Symlink(name=str(path), target="/somewhere"), lambda: links(root), spoil, in_one_step=True
    )


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


LAPTOP, PHONE = "ssh-ed25519 AAAA ada@laptop", "ssh-ed25519 AAAA ada@phone"


def keys_in(root, **properties):
    ids = {"owner": str(os.geteuid()), "group": str(os.getegid())}
    return AuthorizedKeys(name=str(root / "keys"), **ids, **properties)


def files(root):
    return {name: ((root / name).read_text(), (root / name).stat().st_mode) for name in os.listdir(root)}


def keys_to_write(root):
    path = root / "keys"
    path.write_text(f"{PHONE}\n")
    return Case(
        lambda: keys_in(root, keys=(LAPTOP,)),
        lambda: files(root),
        lambda: path.write_text(""),
        in_one_step=True,
    )


def keys_to_protect(root):
    path = root / "keys"
    path.write_text(f"{LAPTOP}\n")
    path.chmod(0o666)
    return Case(lambda: keys_in(root, keys=(LAPTOP,)), lambda: files(root), lambda: path.chmod(0o644))


def keys_to_remove(root):
    path = root / "keys"
    path.write_text(f"{LAPTOP}\n")
    return Case(lambda: keys_in(root, ensure="absent"), lambda: files(root), lambda: path.write_text(PHONE))


@pytest.mark.parametrize(
    "case", [keys_to_write, keys_to_protect, keys_to_remove], ids=lambda case: case.__name__
)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_kind_that_writes_a_file_keeps_the_contract(promise, case, tmp_path):
    await promise(case(tmp_path))


async def test_the_keys_replace_the_file_in_one_step_and_only_their_owner_reads_them(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"{PHONE}\n")
    with path.open() as reader:
        await converge_once(keys_in(tmp_path, keys=(LAPTOP, PHONE)))
        assert reader.read() == f"{PHONE}\n", "the old file is still whole for a process that has it open"
    assert path.read_text() == f"{LAPTOP}\n{PHONE}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["keys"]


async def test_a_symlink_in_place_of_the_keys_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "keys").symlink_to(victim)
    resource = keys_in(tmp_path, keys=(LAPTOP,))
    _, story = await converge_once(resource)
    assert story.checks(resource.ref)[-1].error.startswith(
        f"cannot read {resource.name}: Too many levels of symbolic"
    )
    assert victim.read_text() == "precious"
    assert (tmp_path / "keys").is_symlink()


async def test_a_line_in_the_pipe_is_a_check(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    resource = Scripted(name="a").watch_for(PipeWatch(str(pipe)))
    async with running(resource, watchers={PipeWatch: PipeWatcher}) as story:
        await story.converged()
        before = len(resource.script.checks)
        pipe.write_text("please\n")
        await resource.script.begun(before + 1)


@pytest.mark.parametrize(
    ("page", "file"), [("kind", "symlink.py"), ("kind", "authorized_keys.py"), ("watcher", "pipe.py")]
)
def test_the_pages_show_the_example_as_it_is(page, file):
    code = (PLUGIN / "reactor_symlink" / file).read_text()
    assert f"```python\n{code}```" in (ROOT / "docs" / f"writing-a-{page}.md").read_text()


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_contract_test_of_the_page_passes_as_it_is(promise, tmp_path):
    await _test_of_page("writing-a-kind", "test_the_symlink_kind_keeps_the_contract")(promise, tmp_path)


async def test_the_story_of_the_page_passes_as_it_is(tmp_path):
    await _test_of_page("writing-a-watcher", "test_a_line_in_the_pipe_is_a_check")(tmp_path)


def _test_of_page(page, name):
    """The test ``name`` on the page, in a module that holds nothing but its block."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(), re.DOTALL)
    (block,) = (block for block in blocks if f"async def {name}(" in block)
    module: dict[str, object] = {}
    exec(block, module)
    return module[name]
