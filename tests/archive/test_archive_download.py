"""Downloads from a real server on loopback, which also misbehaves."""

import os
import re
import stat
import subprocess

import pytest
import trio
from archive_server import ArchiveServer
from archive_worlds import FILES, ME, make, names_in, packed, sha256
from one_shot import checked

from reactor.engine.events import Output, Result
from reactor.resource.redaction import redact
from reactor.resources.download import fetching
from reactor.testing.story import converge_once

BODY = packed({"f": os.urandom(300_000)}, "tar.gz")
SMALL = packed(FILES, "tar.gz")


def starts(server):
    """Where the parts began that were asked for."""
    return [int(re.sub(r"\D", "", fields.get("Range", "0"))) for _, fields in server.asked]


async def said(resource):
    _, story = await converge_once(resource)
    return [event.line for event in story.all(Output)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "app.tar.gz"


async def test_an_archive_is_fetched_once(server, path):
    server.serve(BODY)
    resource = make(path, server.url(), checksum=sha256(BODY))
    assert (await checked(resource)).actions == ("downloaded the archive",)
    assert path.read_bytes() == BODY
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (await checked(make(path, server.url(), checksum=sha256(BODY)))).result is Result.OK
    assert len(server.asked) == 1
    assert await resource.outputs() == {"path": str(path), "checksum": sha256(BODY)}
    assert names_in(path.parent) == [path.name]


async def test_noop_asks_no_one(server, path):
    server.serve(BODY)
    resource = make(path, server.url(), meta={"noop": True}, extract_parent=str(path.parent / "x"))
    assert (await checked(resource)).actions == ("Would have downloaded", "Would have extracted")
    assert server.asked == []
    assert names_in(path.parent) == []


async def test_another_checksum_is_not_put_in_place(server, path):
    server.serve(BODY)
    path.write_bytes(b"the old one")
    check = await checked(make(path, server.url(), checksum="0" * 64))
    assert f'checksum mismatch, expected "{"0" * 64}" got "{sha256(BODY)}"' in check.error
    assert path.read_bytes() == b"the old one"
    assert names_in(path.parent) == [path.name]


async def test_another_checksum_in_the_manifest_is_another_archive(server, path):
    for content in (b"one", b"two"):
        body = packed({"f": content}, "tar.gz")
        server.serve(body)
        assert (await checked(make(path, server.url(), checksum=sha256(body)))).result is Result.CHANGED
        assert path.read_bytes() == body


async def test_another_url_is_another_archive(server, path):
    server.serve(SMALL)
    await checked(make(path, server.url(name="app-1.tar.gz")))
    server.serve(BODY)
    assert (await checked(make(path, server.url(name="app-1.tar.gz")))).result is Result.OK
    assert (await checked(make(path, server.url(name="app-2.tar.gz")))).result is Result.CHANGED
    assert path.read_bytes() == BODY


async def test_an_archive_that_came_from_elsewhere_is_taken_as_it_is(server, path):
    path.write_bytes(b"brought by hand")
    assert (await checked(make(path, server.url()))).result is Result.OK
    assert server.asked == []


async def test_an_unchanged_archive_is_not_fetched_again(server, path, tmp_path):
    server.serve(SMALL)
    into = {"extract_parent": str(tmp_path / "opt"), "creates": str(tmp_path / "opt/app/README")}
    await checked(make(path, server.url(), **into))
    sent = server.sent
    (tmp_path / "opt/app/README").unlink()
    check = await checked(make(path, server.url(), **into))
    assert check.actions[0] == "brought the archive up to date"
    assert (tmp_path / "opt/app/README").read_bytes() == FILES["app/README"]
    assert server.sent == sent, "the second answer was a 304"
    assert len(server.asked) == 2


async def test_an_archive_that_was_tampered_with_is_fetched_again(server, path, tmp_path):
    server.serve(SMALL)
    into = {"extract_parent": str(tmp_path / "opt"), "creates": str(tmp_path / "opt/app/README")}
    await checked(make(path, server.url(), **into))
    with path.open("ab") as file:
        file.write(b"more")
    (tmp_path / "opt/app/README").unlink()
    await checked(make(path, server.url(), **into))
    assert path.read_bytes() == SMALL
    assert server.sent == 2 * len(SMALL)


@pytest.mark.skipif("os.getuid() != 0")
async def test_the_owner_is_repaired(server, path):
    server.serve(BODY)
    for properties in ({"checksum": sha256(BODY)}, {}):
        resource = make(path, server.url(), **{**ME, **properties, "owner": "1234", "group": "2345"})
        await checked(resource)
        os.chown(path, 0, 0)
        sent = server.sent
        assert (await checked(resource)).result is Result.CHANGED
        assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)
        assert server.sent == sent, "what it holds was known to be right"
        path.unlink()


@pytest.mark.parametrize(
    ("manner", "message"),
    [
        ("status/404", "HTTP request failed with status 404: Not Found"),
        ("status/401", "HTTP request failed with status 401: Unauthorized"),
        ("status/500", "HTTP request failed with status 500: Internal Server Error"),
        ("status/204", "HTTP request failed with status 204"),
        ("status/304", "HTTP request failed with status 304"),
        ("status/599", "HTTP request failed with status 599"),
        ("short", "without sending complete message body"),
        ("long", "checksum mismatch"),
        ("loop", "redirects more than 5 times"),
        ("lying", "HTTP request failed with status 206"),
    ],
)
async def test_a_server_that_misbehaves_is_complained_of_and_nothing_is_left(server, path, manner, message):
    server.serve(BODY, etag=False)
    check = await checked(make(path, server.url(manner), checksum=sha256(BODY)))
    assert check.result is Result.FAILED
    assert check.error.startswith("download failed: ")
    assert message in check.error
    assert names_in(path.parent) == []


async def test_a_server_that_is_not_there_is_complained_of(path):
    with trio.socket.socket() as nobody:
        await nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        check = await checked(make(path, f"http://127.0.0.1:{port}/app.tar.gz"))
    assert check.error == f"download failed: can't connect to 127.0.0.1:{port}: Connection refused"
    assert check.hint == "check that the server can be reached from this host"


async def test_a_missing_directory_is_named(server, path):
    server.serve(BODY)
    check = await checked(make(path.parent / "missing" / path.name, server.url()))
    assert check.error == f'"{path.parent}/missing" is not a directory'
    assert (
        check.hint
        == f"declare file#{path.parent}/missing with ensure: directory, to go before this, or require the package that brings it"
    )


async def test_a_slow_server_is_given_up_after_the_timeout(server, path):
    server.serve(BODY, etag=False)
    check = await checked(make(path, server.url("slow"), timeout="300ms"))
    assert "it took longer than its timeout of 0.3 s" in check.error
    assert names_in(path.parent) == []


async def test_a_silent_server_is_given_up(server, path, monkeypatch):
    monkeypatch.setattr(fetching, "_SILENCE", 0.2)
    server.serve(BODY, etag=False)
    check = await checked(make(path, server.url("slow")))
    assert "the server has been silent for 0.2 s" in check.error


@pytest.mark.parametrize("manner", ["good", "endless"])
async def test_what_is_too_large_is_not_taken(server, path, manner):
    server.serve(BODY)
    check = await checked(make(path, server.url(manner), max_size="100k"))
    assert check.error == "download failed: it is larger than 100 KiB"
    assert names_in(path.parent) == []


async def test_a_broken_connection_is_gone_on_with(server, path):
    server.serve(BODY)
    server.cuts = 3
    check = await checked(make(path, server.url("cut"), checksum=sha256(BODY)))
    assert check.result is Result.CHANGED, check.error
    assert path.read_bytes() == BODY
    first, *others = starts(server)
    assert first == 0
    assert 0 < others[0] <= others[1] <= others[2], "nothing was asked for twice"


async def test_a_broken_connection_is_an_error_where_the_server_can_not_resume(server, path):
    server.serve(BODY, etag=False)
    server.cuts = 1
    check = await checked(make(path, server.url("cut")))
    assert check.result is Result.FAILED
    assert names_in(path.parent) == []


async def test_a_later_run_goes_on_with_what_has_come(server, path):
    server.serve(BODY)
    check = await checked(make(path, server.url("slow"), timeout="2s"))
    assert "the next attempt resumes the download" in check.hint
    [partial] = names_in(path.parent)
    assert partial.startswith(".reactor-download-")
    had = (path.parent / partial).stat().st_size
    server.sent = 0
    check = await checked(make(path, server.url("slow").replace("slow", "good")))
    assert check.result is Result.CHANGED, "another URL: it starts anew"
    assert server.sent == len(BODY)
    assert had > 0
    assert names_in(path.parent) == [path.name]


async def test_a_later_run_asks_for_the_rest_only(server, path, tmp_path):
    server.serve(BODY)
    server.cuts = 99
    check = await checked(make(path, server.url("cut")))
    assert check.result is Result.FAILED
    server.cuts = 0
    [partial] = tmp_path.iterdir()
    had = partial.stat().st_size
    assert (await checked(make(path, server.url("cut"), checksum=sha256(BODY)))).result is Result.CHANGED
    assert starts(server)[-1] == had > 0
    assert names_in(path.parent) == [path.name]


async def test_what_came_before_the_machine_was_started_is_not_trusted(server, path, tmp_path):
    server.serve(BODY)
    server.cuts = 99
    await checked(make(path, server.url("cut")))
    server.cuts = 0
    [partial] = tmp_path.iterdir()
    os.utime(partial, (1_000_000_000, 1_000_000_000))
    assert (await checked(make(path, server.url("cut")))).result is Result.CHANGED
    assert starts(server)[-1] == 0


async def test_another_part_than_was_asked_for_is_not_taken(server, path, tmp_path):
    server.serve(BODY)
    server.cuts = 99
    await checked(make(path, server.url("cut")))
    server.shift, server.cuts = 7, 0
    assert (await checked(make(path, server.url("cut"), checksum=sha256(BODY)))).result is Result.CHANGED
    assert starts(server)[-1] == 0, "all was asked for"


@pytest.mark.parametrize("part", [{"most": 100}, {"longer": 5}, {"part_etag": '"another"'}])
async def test_a_part_that_is_not_the_rest_of_the_same_version_is_not_taken(server, path, part):
    server.serve(BODY)
    server.cuts = 99
    await checked(make(path, server.url("cut")))
    server.cuts = 0
    vars(server).update(part)
    assert (await checked(make(path, server.url("cut")))).result is Result.CHANGED
    assert path.read_bytes() == BODY
    assert starts(server)[-1] == 0, "all was asked for"


@pytest.mark.skipif("os.getuid() != 0")
async def test_a_full_disk_is_reported_and_nothing_stays_on_it(server, path, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", small], check=True)
    try:
        server.serve(BODY)
        check = await checked(make(small / path.name, server.url()))
        assert "No space left on device" in check.error
        assert check.hint == "the file system is full: free some space or inodes"
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


async def test_an_archive_that_has_changed_meanwhile_is_fetched_from_the_start(server, path):
    server.serve(BODY)
    server.cuts = 99
    await checked(make(path, server.url("cut")))
    server.cuts = 0
    server.serve(SMALL)
    assert (await checked(make(path, server.url("cut"), checksum=sha256(SMALL)))).result is Result.CHANGED
    assert path.read_bytes() == SMALL


async def test_what_has_come_is_removed_when_no_one_needs_it(server, path):
    server.serve(BODY)
    server.cuts = 99
    await checked(make(path, server.url("cut")))
    assert len(names_in(path.parent)) == 1
    check = await checked(make(path, server.url("cut"), ensure="absent"))
    assert check.actions == ("removed what an interrupted run left",)
    assert names_in(path.parent) == []


@pytest.mark.parametrize("trap", ["symlink", "hard link"])
async def test_a_trap_in_place_of_the_temporary_file_catches_nothing(server, path, tmp_path, trap):
    server.serve(BODY)
    server.cuts = 99
    await checked(make(path, server.url("cut")))
    [partial] = names_in(tmp_path)
    (tmp_path / partial).unlink()
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    (os.symlink if trap == "symlink" else os.link)(victim, tmp_path / partial)
    server.cuts = 0
    assert (await checked(make(path, server.url("cut")))).result is Result.CHANGED
    assert victim.read_text() == "as it was"
    assert path.read_bytes() == BODY
    assert not path.is_symlink()


async def test_a_redirect_is_followed_and_the_credentials_are_not_sent_elsewhere(server, path):
    server.serve(BODY)
    with ArchiveServer() as other:
        other.serve(BODY)
        server.leads_to = other.url()
        url = server.url("moved").replace("http://", "http://ann:s3cr3t@")
        check = await checked(make(path, url, headers={"X-Api-Key": "k3y-value"}))
        assert check.result is Result.CHANGED
        [(_, first)], [(_, second)] = server.asked, other.asked
    assert first["X-Api-Key"] == "k3y-value"
    assert first["Authorization"].startswith("Basic ")
    assert not {"X-Api-Key", "Authorization"} & set(second)


async def test_a_redirect_on_the_same_host_keeps_the_credentials(server, path):
    server.serve(BODY)
    server.leads_to = "/private/app.tar.gz"
    server.authorization = "Basic YW5uOnMzY3IzdA=="
    check = await checked(make(path, server.url("moved"), username="ann", password="s3cr3t"))
    assert check.result is Result.CHANGED


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://host/x", "http://host:99999/"])
async def test_a_redirect_to_something_else_is_refused(server, path, target):
    server.leads_to = target
    check = await checked(make(path, server.url("moved")))
    assert "redirects to a URL that is not http or https" in check.error


async def test_a_wrong_password_is_not_shown(server, path):
    server.authorization = "Basic right"
    url = server.url("private") + "?token=t0k3n"
    check = await checked(make(path, url, username="ann", password="wr0ng-pass"))
    assert "status 401" in check.error
    assert check.hint == "check username and password, or headers"
    for secret in ("wr0ng-pass", "t0k3n"):
        assert secret not in redact(f"{check.error} {check.hint} {check.actions}")


async def test_https_trusts_whom_the_host_trusts(path, tls, trusted):
    with ArchiveServer(tls) as server:
        server.serve(BODY)
        assert (await checked(make(path, server.url()))).result is Result.CHANGED
    assert path.read_bytes() == BODY


async def test_https_trusts_no_other_user(path, tls):
    with ArchiveServer(tls) as server:
        server.serve(BODY)
        assert "certificate verify failed" in (await checked(make(path, server.url()))).error
    assert names_in(path.parent) == []


async def test_a_redirect_from_https_to_http_is_refused(server, path, tls, trusted):
    server.serve(BODY)
    with ArchiveServer(tls) as secure:
        secure.leads_to = server.url()
        check = await checked(make(path, secure.url("moved")))
    assert "from https to http" in check.error
    assert server.asked == []


async def test_a_long_download_says_how_far_it_is_but_not_all_the_time(server, path, monkeypatch):
    monkeypatch.setattr("reactor.resources.download.fetching._INTERVAL", 0.0)
    body = os.urandom(3 << 20)
    server.serve(body)
    lines = await said(make(path, server.url()))
    assert 1 <= len(lines) <= 3
    assert all(line.startswith("downloaded ") and " of 3 MiB (" in line for line in lines)
    path.unlink()
    monkeypatch.setattr("reactor.resources.download.fetching._INTERVAL", 60.0)
    assert await said(make(path, server.url())) == []


async def test_the_name_of_a_host_that_no_one_knows_is_reported(path):
    check = await checked(make(path, "http://no-such-host.invalid/app.tar.gz"))
    assert "the name no-such-host.invalid can't be resolved: " in check.error
    assert not path.exists()
