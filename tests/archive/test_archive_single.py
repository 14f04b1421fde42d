"""A compressed file that is no archive becomes one file, whole or not at all."""

import bz2
import gzip
import lzma
import os
import stat

import pytest
import zstandard
from archive_worlds import make, names_in, sha256
from one_shot import checked

from reactor import UnpackingError, UnpackingLimits
from reactor.engine.events import Result
from reactor.resources.file import File
from reactor.testing.story import running
from reactor.unpacking.single import SingleFile
from reactor.unpacking.unpack import unpack

PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}
TOOL = b"#!/bin/sh\n" + bytes(range(256)) * 1000


def test_what_it_makes_is_its_own():
    archive = make("/tmp/tool.gz", "http://h/t.gz", extract_parent="/usr/bin", mode="0755")
    assert "/usr/bin/tool" in archive.relations().provides
    (claim,) = [claim for claim in archive.claims() if claim.key == "/usr/bin/tool"]
    content = {"ensure": "present", "content": "x", "owner": archive.owner, "group": archive.group}
    file = File(name="/usr/bin/tool", mode="0644", **content)
    assert claim.disagreement(next(iter(file.claims()))) == ["mode", "content"]


def single(root, server, form="gz", body=None, **more):
    server.serve(PACK[form](TOOL) if body is None else body)
    into = {"extract_parent": str(root / "bin"), **more}
    return make(root / f"tool.{form}", server.url(name=f"tool-1.4.{form}"), **into)


@pytest.mark.parametrize("form", PACK)
async def test_one_file_comes_out_and_comes_back(server, tmp_path, form):
    resource = single(tmp_path, server, form, mode="0755", checksum=sha256(PACK[form](TOOL)))
    check = await checked(resource)
    assert check.actions == ("downloaded the archive", f"unpacked it into {tmp_path}/bin")
    tool = tmp_path / "bin/tool"
    assert tool.read_bytes() == TOOL
    assert stat.S_IMODE(tool.stat().st_mode) == 0o755
    assert names_in(tmp_path / "bin") == ["tool"]
    assert (await checked(resource)).result is Result.OK
    tool.unlink()
    assert (await checked(resource)).actions == (f"unpacked it into {tmp_path}/bin",)
    assert tool.read_bytes() == TOOL
    assert len(server.asked) == 1


async def test_its_deletion_is_noticed(server, tmp_path):
    resource = single(tmp_path, server, checksum=sha256(PACK["gz"](TOOL)))
    async with running(resource) as story:
        await story.converged()
        (tmp_path / "bin/tool").unlink()
        await story.until((tmp_path / "bin/tool").exists)
        await story.rest()
    assert (tmp_path / "bin/tool").read_bytes() == TOOL
    assert len(server.asked) == 1


async def test_it_may_be_cleaned_up_without_creates(server, tmp_path):
    resource = single(tmp_path, server, cleanup=True)
    assert (await checked(resource)).actions[-1] == "removed the archive after unpacking"
    assert names_in(tmp_path) == ["bin", "bin/tool"]
    assert stat.S_IMODE((tmp_path / "bin/tool").stat().st_mode) == 0o644
    assert (await checked(resource)).result is Result.OK
    assert len(server.asked) == 1


async def test_a_new_one_takes_the_place_of_the_old(server, tmp_path):
    await checked(single(tmp_path, server))
    body = PACK["gz"](b"a new one")
    await checked(single(tmp_path, server, body=body, checksum=sha256(body)))
    assert (tmp_path / "bin/tool").read_bytes() == b"a new one"


async def test_noop_does_nothing(server, tmp_path):
    check = await checked(single(tmp_path, server), noop=True)
    assert check.actions == ("Would have downloaded", "Would have extracted")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("form", PACK)
@pytest.mark.parametrize("keep", [0, 3, 0.5, -1])
def test_what_is_cut_short_is_refused(tmp_path, form, keep):
    body = PACK[form](os.urandom(300_000))
    (tmp_path / "packed").write_bytes(body[: int(len(body) * keep) if isinstance(keep, float) else keep])
    (tmp_path / "in").mkdir()
    with pytest.raises(UnpackingError, match=r"damaged|not a usable|is empty"):
        unpack(
            str(tmp_path / "packed"),
            str(tmp_path / "in"),
            form,
            limits=UnpackingLimits(),
            single=SingleFile("f"),
        )


@pytest.mark.parametrize("level", [1, 19])
def test_every_sort_of_zstd_frame_is_read_to_its_end(tmp_path, level):
    """With and without sizes and checksums, frames after each other, one to be skipped, a run of one byte."""
    plain = [os.urandom(200_000), bytes(500_000), b"", b"x"]
    flags = [(True, True), (True, False), (False, True), (False, False)]
    body = b"\x52\x2a\x4d\x18\x03\0\0\0abc"
    for content, (size, check) in zip(plain, flags, strict=True):
        packer = zstandard.ZstdCompressor(level=level, write_content_size=size, write_checksum=check)
        body += packer.compress(content)
    (tmp_path / "packed").write_bytes(body)
    (tmp_path / "in").mkdir()
    unpack(
        str(tmp_path / "packed"),
        str(tmp_path / "in"),
        "zst",
        limits=UnpackingLimits(),
        single=SingleFile("f"),
    )
    assert (tmp_path / "in/f").read_bytes() == b"".join(plain)


async def test_a_damaged_one_leaves_what_was_there(server, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tool").write_text("the old one")
    body = PACK["gz"](TOOL)[:-3]
    check = await checked(single(tmp_path, server, body=body, checksum=sha256(body)))
    assert "cannot unpack" in check.error
    assert (tmp_path / "bin/tool").read_text() == "the old one"


async def test_a_bomb_is_refused(server, tmp_path):
    check = await checked(
        single(tmp_path, server, body=PACK["zst"](bytes(5_000_000)), form="zst", max_unpacked="4MiB")
    )
    assert "unpacks to more than 4 MiB" in check.error
    assert not (tmp_path / "bin/tool").exists()
