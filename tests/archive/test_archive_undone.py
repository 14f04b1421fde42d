"""What somebody else undoes of an archive between the apply and the look after it: drift, and no failure."""

from __future__ import annotations

import shutil

from archive_worlds import FILES, make, packed
from foreign_writer import assert_repaired_after_foreign_writer

FEW = 5


async def test_an_unpacked_archive_undone_by_others_is_drift_again(server, tmp_path):
    server.serve(packed(FILES, "tar.gz"))
    goal = tmp_path / "opt"
    wanted = {"extract_parent": str(goal), "creates": str(goal / "app/bin/run")}
    ours = make(tmp_path / "app.tar.gz", server.url(name="x.tar.gz"), **wanted)
    await assert_repaired_after_foreign_writer(ours, lambda: shutil.rmtree(goal), FEW)
    assert (goal / "app/bin/run").is_file()


async def test_an_archive_removed_by_others_is_drift_again(server, tmp_path):
    server.serve(packed(FILES, "tar.gz"))
    ours = make(tmp_path / "app.tar.gz", server.url(name="x.tar.gz"))
    await assert_repaired_after_foreign_writer(ours, (tmp_path / "app.tar.gz").unlink, FEW)
    assert (tmp_path / "app.tar.gz").is_file()
