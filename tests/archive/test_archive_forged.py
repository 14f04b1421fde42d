"""An archive in a directory of another user: what they put there is never unpacked as root."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from archive_worlds import FILES, make, sha256, tar_of
from one_shot import checked

from reactor.engine.events import Result
from reactor.resource.backup_store import state_directory_for
from reactor.resources.archive import archive_file
from reactor.resources.archive.staging import staging_path
from reactor.resources.download.partial_download import partial_path

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

STRANGER = 12345
OURS = tar_of(FILES)
FORGED = tar_of({**FILES, "app/bin/run": b"#!/bin/sh\necho forged\n"})


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    return tmp_path / "home/app.tar.gz"


def forge(path: Path, url: str, etag: str, owner: int = STRANGER, body: bytes = FORGED) -> None:
    """Put an archive there that says of itself that it came from the server."""
    path.unlink(missing_ok=True)
    path.write_bytes(body)
    fingerprint = hashlib.sha256(url.encode()).hexdigest()[:32]
    origin = {"url": fingerprint, "etag": etag, "last_modified": "", "checksum": sha256(body)}
    os.setxattr(path, "user.reactor.origin", json.dumps(origin).encode())
    path.chmod(0o640)
    os.chown(path, owner, owner)


def into(tmp_path: Path) -> dict[str, str]:
    return {"extract_parent": str(tmp_path / "opt"), "creates": str(tmp_path / "opt/app/README")}


def unpacked(tmp_path: Path) -> bytes:
    return (tmp_path / "opt/app/bin/run").read_bytes()


@pytest.mark.parametrize("fetched_before", [False, True])
@pytest.mark.parametrize("owner", [STRANGER, 0])
async def test_an_archive_that_vouches_for_itself_is_fetched_again(
    server, theirs, tmp_path, fetched_before, owner
):
    """With ``owner`` 0, root took it over by chown, and its maker may still hold it open."""
    server.serve(OURS)
    resource = make(theirs, server.url(), **into(tmp_path))
    if fetched_before:
        await checked(resource)
        (tmp_path / "opt/app/README").unlink()
    forge(theirs, server.url(), server.etag, owner)
    check = await checked(make(theirs, server.url(), **into(tmp_path)))
    assert check.result is Result.CHANGED
    assert unpacked(tmp_path) == FILES["app/bin/run"]
    assert theirs.read_bytes() == OURS


@pytest.mark.parametrize("give_away", ["chmod", "chown", "link"])
async def test_an_archive_that_others_may_have_written_to_is_fetched_again(
    server, theirs, tmp_path, give_away
):
    server.serve(OURS)
    await checked(make(theirs, server.url(), **into(tmp_path)))
    if give_away == "chmod":
        theirs.chmod(0o666)
    elif give_away == "chown":
        os.chown(theirs, STRANGER, 0)
    else:
        os.link(theirs, tmp_path / "second")
    (tmp_path / "opt/app/README").unlink()
    sent = server.sent
    await checked(make(theirs, server.url(), **into(tmp_path)))
    assert server.sent == sent + len(OURS)
    assert unpacked(tmp_path) == FILES["app/bin/run"]


async def test_a_download_that_another_user_began_is_not_gone_on_with(server, theirs, tmp_path):
    server.serve(OURS)
    partial = Path(partial_path(str(theirs)))
    forge(partial, server.url(), server.etag, 0, FORGED[: len(OURS) // 2])
    partial.chmod(0o600)
    await checked(make(theirs, server.url(), **into(tmp_path)))
    assert theirs.read_bytes() == OURS
    assert "Range" not in server.asked[0][1]


@pytest.mark.parametrize("has_checksum", [True, False])
async def test_the_bytes_that_were_compared_are_those_that_are_unpacked(
    server, theirs, tmp_path, monkeypatch, has_checksum
):
    """The stranger owns the archive, and writes to it at the worst moment: after it was put in place."""
    server.serve(OURS)
    real = archive_file.open_content

    def swapped(path):
        theirs.write_bytes(FORGED)
        return real(path)

    checksum = {"checksum": sha256(OURS)} if has_checksum else {}
    resource = make(theirs, server.url(), **{**into(tmp_path), **checksum, "owner": str(STRANGER)})
    with monkeypatch.context() as patched:
        patched.setattr(archive_file, "open_content", swapped)
        check = await checked(resource)
    assert f"{theirs} was changed after it had been verified" in check.error
    assert not (tmp_path / "opt/app").exists()
    assert (await checked(resource)).result is Result.CHANGED
    assert unpacked(tmp_path) == FILES["app/bin/run"]


async def test_what_is_written_to_the_archive_while_it_is_unpacked_is_not_unpacked(
    server, theirs, tmp_path, monkeypatch
):
    server.serve(OURS)
    real = archive_file.digest_of

    def compared(fd, copy=None, most=None):
        digest = real(fd, copy=copy, most=most)
        if copy is not None:
            theirs.write_bytes(FORGED)
        return digest

    monkeypatch.setattr(archive_file, "digest_of", compared)
    resource = make(
        theirs, server.url(), **{**into(tmp_path), "checksum": sha256(OURS), "owner": str(STRANGER)}
    )
    await checked(resource)
    assert unpacked(tmp_path) == FILES["app/bin/run"]


async def test_an_archive_with_the_right_bytes_and_the_wrong_owner_is_given_as_a_new_file(
    server, theirs, tmp_path
):
    server.serve(OURS)
    theirs.write_bytes(OURS)
    os.chown(theirs, STRANGER, STRANGER)
    with theirs.open("r+b") as kept:
        await checked(make(theirs, server.url(), checksum=sha256(OURS)))
        kept.write(b"forged")
    assert theirs.read_bytes() == OURS
    assert theirs.stat().st_uid == 0
    assert server.asked == []


async def test_without_a_state_directory_nothing_vouches(server, theirs, tmp_path):
    server.serve(OURS)
    with state_directory_for(None):
        for _ in range(2):
            await checked(make(theirs, server.url(), **into(tmp_path)))
            (tmp_path / "opt/app/README").unlink()
    assert server.sent == 2 * len(OURS)


async def test_a_directory_of_root_that_got_the_name_of_a_staging_directory_is_not_removed(
    server, theirs, tmp_path
):
    server.serve(OURS)
    left = Path(staging_path(str(theirs.parent), str(theirs)))
    left.mkdir(mode=0o700)
    (left / "precious").write_text("root's")
    absent = {"ensure": "absent", "extract_parent": str(theirs.parent), "creates": str(theirs.parent / "app")}
    check = await checked(make(theirs, server.url(), **absent))
    assert f"{left} is in the way: reactor did not create it" in check.error
    assert (left / "precious").read_text() == "root's"
    (left / "precious").unlink()
    (left / "tree/app").mkdir(parents=True)
    (left / "tree/app/file").write_text("half unpacked")
    check = await checked(make(theirs, server.url(), **absent))
    assert check.result is Result.CHANGED
    assert not left.exists()
