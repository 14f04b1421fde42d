"""Another archive, or another directory for its content, in the manifest."""

import pytest
from archive_worlds import FILES, make, packed, sha256, tree
from one_shot import checked

from reactor.engine.events import Result

OLD = packed(FILES, "tar.gz")
NEW = packed({**FILES, "app/bin/run": b"#!/bin/sh\n# new\n"}, "tar.gz")
UNPACKED, REMOVED = "unpacked it into {}", "removed the archive after unpacking"


def cleaned_up(root, url, **more):
    into = {"extract_parent": str(root / "opt"), "creates": str(root / "opt/app/bin/run")}
    return make(root / "a.tar.gz", url, cleanup=True, **into, **more)


def run_of(root):
    return (root / "opt/app/bin/run").read_bytes()


@pytest.mark.parametrize("what", ["checksum", "url"])
async def test_a_new_version_of_what_was_cleaned_up_is_unpacked(server, tmp_path, what):
    server.serve(OLD)
    more = {"checksum": sha256(OLD)} if what == "checksum" else {}
    assert (await checked(cleaned_up(tmp_path, server.url(), **more))).result is Result.CHANGED
    server.serve(NEW)
    more = {"checksum": sha256(NEW)} if what == "checksum" else {}
    newer = cleaned_up(tmp_path, server.url("good2"), **more)
    assert (await checked(newer)).result is Result.CHANGED
    assert run_of(tmp_path) == b"#!/bin/sh\n# new\n"
    assert not (tmp_path / "a.tar.gz").exists()
    assert (await checked(newer)).result is Result.OK


async def test_the_same_version_behind_another_url_is_not_fetched_again(server, tmp_path):
    server.serve(OLD)
    await checked(cleaned_up(tmp_path, server.url(), checksum=sha256(OLD)))
    moved = cleaned_up(tmp_path, server.url("good2"), checksum=sha256(OLD))
    assert (await checked(moved)).result is Result.OK
    assert len(server.asked) == 1


async def test_a_version_that_somebody_else_put_in_place_is_unpacked(server, tmp_path):
    server.serve(OLD)
    into = {"extract_parent": str(tmp_path / "opt"), "creates": str(tmp_path / "opt/app/bin/run")}
    await checked(make(tmp_path / "a.tar.gz", server.url(), checksum=sha256(OLD), **into))
    (tmp_path / "a.tar.gz").write_bytes(NEW)
    newer = make(tmp_path / "a.tar.gz", server.url(), checksum=sha256(NEW), **into)
    assert (await checked(newer)).actions == (UNPACKED.format(tmp_path / "opt"),)
    assert run_of(tmp_path) == b"#!/bin/sh\n# new\n"
    assert (await checked(newer)).result is Result.OK


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("before", [None, "elsewhere"])
async def test_another_directory_gets_the_content(server, tmp_path, is_there, before):
    server.serve(OLD)
    path, checksum = tmp_path / "a.tar.gz", sha256(OLD)
    into = {} if before is None else {"extract_parent": str(tmp_path / before)}
    await checked(make(path, server.url(), checksum=checksum, **into))
    goal = tmp_path / "opt"
    if is_there:
        goal.mkdir()
    ours = make(path, server.url(), checksum=checksum, extract_parent=str(goal))
    assert (await checked(ours)).actions == (UNPACKED.format(goal),)
    assert "app/README" in tree(goal)
    assert (await checked(ours)).result is Result.OK
    assert len(server.asked) == 1


async def test_a_directory_of_content_that_is_gone_comes_back(server, tmp_path):
    server.serve(OLD)
    ours = make(
        tmp_path / "a.tar.gz", server.url(), checksum=sha256(OLD), extract_parent=str(tmp_path / "opt")
    )
    await checked(ours)
    (tmp_path / "opt").rename(tmp_path / "away")
    assert (await checked(ours)).actions == (UNPACKED.format(tmp_path / "opt"),)
