"""What only a load needs is freed when it ends, without the garbage collector: a run pauses it."""

import gc

from reactor.loading import load
from reactor.manifest.nodes import Mapping
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.source import Source
from reactor.resource.gc_control import gc_paused


def test_the_tree_the_text_and_the_origins_are_freed_with_the_load(tmp_path):
    child, site = tmp_path / "child.yaml", tmp_path / "site.yaml"
    child.write_text("resources: [{file: [{/tmp/b: {ensure: absent}}]}]\n")
    site.write_text(
        f"resources: [{{file: [{{/tmp/a: {{ensure: absent}}}}]}}, {{apply: [{{{child}: {{}}}}]}}]\n"
    )
    gc.collect()
    before = of_a_load()
    with gc_paused():
        loaded = load(str(site))
        left = of_a_load()
    assert len(loaded.graph.resources) == 3
    # A trace of a test that failed before this one may hold what that test loaded.
    others = {id(each) for each in before}
    assert not [each for each in left if id(each) not in others]


def of_a_load() -> list[object]:
    """All objects in memory of the kinds that only a load needs."""
    return [each for each in gc.get_objects() if isinstance(each, ResourceTable | Source | Mapping)]
