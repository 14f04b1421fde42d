"""What somebody else undoes of a tree between the apply and the look after it: drift, and no failure."""

from __future__ import annotations

import pytest
from foreign_writer import assert_repaired_after_foreign_writer
from scaffold_worlds import grow, make, tree

from reactor.engine.events import Result
from reactor.testing.story import converge_once

FILES = {"a": "ours", "sub/b": "ours too"}


@pytest.fixture
def templates(tmp_path):
    grow(tmp_path / "templates", FILES)
    return tmp_path / "templates"


async def test_files_undone_by_others_are_flapping_and_not_a_failure(tmp_path, templates):
    await assert_repaired_after_foreign_writer(
        make(tmp_path), lambda: (tmp_path / "out/a").write_text("theirs")
    )
    assert tree(tmp_path / "out") == FILES


async def test_a_removal_undone_by_others_is_flapping_and_not_a_failure(tmp_path, templates):
    grow(tmp_path / "out", FILES)
    await assert_repaired_after_foreign_writer(
        make(tmp_path, ensure="absent"), lambda: grow(tmp_path / "out", {"a": "ours"})
    )
    assert tree(tmp_path / "out") is None


async def test_files_removed_by_a_command_in_post_are_a_failure(tmp_path, templates):
    ours = make(tmp_path, post=[{"a": "rm"}])
    _, story = await converge_once(ours)
    assert {event.result for event in story.checks(ours.ref)} == {Result.FAILED}
