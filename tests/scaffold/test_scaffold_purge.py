"""What a scaffold that purges leaves alone: what other resources of the manifest manage in its target."""

import os

import pytest
from namespaces import run_in_namespaces
from scaffold_worlds import grow, tree

from reactor.engine.events import Converged, Result
from reactor.loading import load
from reactor.testing.story import converge_once, running

SCAFFOLD = "scaffold: [{$T/out: {ensure: present, source: templates, purge: true}}]"
FILE = "file: [{$T/out/sub/mine: {ensure: present, content: mine, owner: root, group: root, mode: '0644'}}]"
EXEC = "exec: [{'touch $T/out/made': {provider: shell, creates: $T/out/made}}]"
NESTED = "scaffold: [{$T/out/inner: {ensure: present, source: others}}]"


@pytest.fixture
def site(tmp_path):
    """The graph of a manifest of these resources, with a template ``a``, another ``b``, and a file that nobody wants."""
    grow(tmp_path / "templates", {"a": "A"})
    grow(tmp_path / "others", {"deep/b": "B"})
    grow(tmp_path / "out", {"stray": "?", "sub/stray": "?"})

    def site(*resources):
        text = "resources:\n" + "".join(f"  - {each}\n" for each in resources)
        (tmp_path / "site.yaml").write_text(text.replace("$T", str(tmp_path)))
        return load(str(tmp_path / "site.yaml")).graph

    return site


@pytest.mark.parametrize(
    ("resource", "kept"),
    [(FILE, {"sub/mine": "mine"}), (EXEC, {"made": ""}), (NESTED, {"inner/deep/b": "B"})],
)
@pytest.mark.parametrize("first", [True, False])
async def test_what_others_manage_stays_and_all_else_goes(site, tmp_path, resource, kept, first):
    resources = [SCAFFOLD, resource] if first else [resource, SCAFFOLD]
    await converge_once(graph=site(*resources))
    assert tree(tmp_path / "out") == {"a": "A"} | kept
    ended, _ = await converge_once(graph=site(*resources))
    assert ended.counts[Result.OK] == 2, "neither undoes the other"


async def test_what_no_other_manages_any_more_goes(site, tmp_path):
    async with running(graph=site(SCAFFOLD, FILE)) as story:
        await story.converged()
        assert tree(tmp_path / "out") == {"a": "A", "sub/mine": "mine"}
        (tmp_path / "out" / "sub" / "mine").unlink()
        await story.rest()
        before = len(story.all(Converged))
        story.engine.reload(site(SCAFFOLD))
        await story.converged(before + 1)
        assert tree(tmp_path / "out") == {"a": "A"}


IN_A_NAMESPACE = """
import subprocess, trio
from pathlib import Path
from scaffold_worlds import converge, make, tree
top = Path({top!r})
for source, point in (("data", "out/mnt/data"), ("one", "out/one"), ("made", "out/made")):
    subprocess.run(["mount", "--bind", top / source, top / point], check=True)
scaffold = make(top, purge=True)
print(trio.run(converge, scaffold), tree(top / "out"))
scaffold._changed_paths.take()
Path(top, "out/mnt/data/later").write_text("")
scaffold._changed_paths.add(str(top / "out/mnt/data/later"))
print(trio.run(converge, scaffold))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_what_is_mounted_in_the_target_is_not_purged(tmp_path):
    """Directories and single files alike; what the templates make is made there, too."""
    grow(tmp_path, {"data/deep/precious": "P", "one": "1", "made/b": "old", "made/other": "O", "out/one": ""})
    grow(tmp_path, {"templates/made/b": "B", "out/mnt/data/below": "?", "out/made/b": "?", "out/stray": "?"})
    grow(tmp_path / "data", {".killed.0123456789ab.reactor": ""})
    after = {"made/b": "B", "made/other": "O", "mnt/data/deep/precious": "P", "one": "1"}
    told = run_in_namespaces(IN_A_NAMESPACE.format(top=str(tmp_path)))
    litter = f"temporary files of an interrupted run: {tmp_path}/out/mnt/data/.killed.0123456789ab.reactor"
    assert told == [f"['changed 2 scaffold files, removed {litter}'] {after}", "[]"]
