"""Files whose source is on a web server: a real one, on loopback."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from archive_server import ArchiveServer
from archive_worlds import sha256
from file_worlds import look, make, mode_of, names_in
from one_shot import checked
from property_problems import problems

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import state_directory_for
from reactor.resources.file import File
from reactor.testing.story import running

BODY = b"port = 8080\n"
NEW = b"port = 9090\n"


@pytest.fixture
def server():
    with ArchiveServer() as server:
        server.serve(BODY)
        yield server


@pytest.fixture(autouse=True)
def state(tmp_path_factory):
    """The state directory: what the server named a version is recorded there."""
    with state_directory_for(directory := str(tmp_path_factory.mktemp("state"))):
        yield directory


def remote(tmp_path, server, manner="good", **more):
    return make(tmp_path / "f", source=server.url(manner, "app.conf"), **more)


def conditions(server):
    return [fields.get("If-None-Match") for _, fields in server.asked]


async def test_with_a_checksum_the_server_is_asked_only_for_what_is_missing(server, tmp_path):
    check = await checked(remote(tmp_path, server, checksum=sha256(BODY), mode="0600"))
    assert check.actions == ("created the file",)
    assert (tmp_path / "f").read_bytes() == BODY
    assert mode_of(tmp_path / "f") == 0o600
    assert names_in(tmp_path) == ["f"]
    assert len(server.asked) == 1
    server.serve(NEW)  # another one does not matter
    again = remote(tmp_path, server, checksum=sha256(BODY), mode="0600")
    assert (await checked(again)).result is Result.OK
    assert len(server.asked) == 1


async def test_another_checksum_is_not_put_in_place(server, tmp_path):
    (tmp_path / "f").write_text("old")
    check = await checked(remote(tmp_path, server, checksum=sha256(NEW)))
    assert check.result is Result.FAILED
    assert f'checksum mismatch, expected "{sha256(NEW)}" got "{sha256(BODY)}"' in check.error
    assert (tmp_path / "f").read_text() == "old"
    assert names_in(tmp_path) == ["f"]


async def test_an_encoded_answer_is_not_the_content(server, tmp_path):
    (tmp_path / "f").write_text("old")
    check = await checked(remote(tmp_path, server, "encoded"))
    assert check.result is Result.FAILED
    assert "a Content-Encoding that was not asked for: 'gzip'" in check.error
    assert (tmp_path / "f").read_text() == "old"


async def test_a_packed_file_is_taken_as_it_is_whatever_the_server_calls_its_packing(server, tmp_path):
    resource = make(tmp_path / "f", source=server.url("encoded", "app.conf.gz") + "?v=1")
    assert (await checked(resource)).result is Result.CHANGED
    assert gzip.decompress((tmp_path / "f").read_bytes()) == BODY


async def test_without_a_checksum_the_server_is_asked_by_its_etag(server, tmp_path):
    assert (await checked(remote(tmp_path, server))).actions == ("created the file",)
    assert (await checked(remote(tmp_path, server))).result is Result.OK
    etag, sent = server.etag, server.sent
    assert conditions(server) == [None, etag]
    assert sent == len(BODY)
    server.serve(NEW)
    assert (await checked(remote(tmp_path, server))).actions == ("updated the content",)
    assert (tmp_path / "f").read_bytes() == NEW
    assert conditions(server)[2:] == [etag]
    assert server.sent == len(BODY) + len(NEW)  # the version that was compared is the one that is stored


async def test_without_an_etag_the_bytes_are_compared(server, tmp_path):
    server.serve(BODY, etag=False)
    await checked(remote(tmp_path, server))
    assert (await checked(remote(tmp_path, server))).result is Result.OK
    server.serve(NEW, etag=False)
    assert (await checked(remote(tmp_path, server))).actions == ("updated the content",)
    assert (tmp_path / "f").read_bytes() == NEW


async def test_another_etag_of_the_same_bytes_changes_nothing(server, tmp_path):
    await checked(remote(tmp_path, server))
    before = (tmp_path / "f").stat().st_ino
    server.etag = '"another"'
    assert (await checked(remote(tmp_path, server))).result is Result.OK
    assert (tmp_path / "f").stat().st_ino == before


async def test_what_is_too_large_names_no_property_that_a_file_has_not(server, tmp_path):
    check = await checked(remote(tmp_path, server, "huge"))
    assert check.error == "download failed: it is larger than 4 GiB"
    assert check.hint == "name a smaller file"
    assert names_in(tmp_path) == []


async def test_another_url_is_another_file(server, tmp_path):
    await checked(remote(tmp_path, server))
    server.serve(NEW)
    resource = make(tmp_path / "f", source=server.url("good", "other.conf"))
    assert (await checked(resource)).actions == ("updated the content",)
    assert conditions(server) == [None, None]


async def test_a_new_version_is_found_at_the_interval_of_poll(server, tmp_path):
    resource = remote(tmp_path, server, meta={"poll": "20ms"})
    async with running(resource) as story:
        await story.converged()
        server.serve(NEW)
        await story.until(lambda: (tmp_path / "f").read_bytes() == NEW)


async def test_a_new_version_is_found_by_the_audit(server, tmp_path, monkeypatch):
    monkeypatch.setattr("reactor.resources.file.remote._MOST_OF_AN_ANSWER", 0.01)
    async with running(
        remote(tmp_path, server), options=RunOptions(watch=True, audit_interval=0.05)
    ) as story:
        await story.converged()
        server.serve(NEW)
        await story.until(lambda: (tmp_path / "f").read_bytes() == NEW)


async def test_drift_is_repaired_and_asked_about_once(server, tmp_path):
    resource = remote(tmp_path, server, checksum=sha256(BODY))
    async with running(resource) as story:
        await story.converged()
        (tmp_path / "f").write_text("drift")
        await story.until(lambda: (tmp_path / "f").read_bytes() == BODY)
        await story.rest()
    assert len(server.asked) == 2


async def test_noop_shows_the_diff_and_changes_nothing(server, tmp_path):
    (tmp_path / "f").write_text("port = 1\n")
    (tmp_path / "f").chmod(0o644)
    check = await checked(remote(tmp_path, server), noop=True, diff=True)
    assert check.actions == ("Would have updated the file",)
    assert "-port = 1\n+port = 8080\n" in "".join(check.diffs)
    assert (tmp_path / "f").read_text() == "port = 1\n"
    assert names_in(tmp_path) == ["f"]


async def test_noop_says_what_can_not_be_fetched(server, tmp_path):
    check = await checked(remote(tmp_path, server, "status/404"), noop=True)
    assert "HTTP request failed with status 404: Not Found" in check.error
    assert names_in(tmp_path) == []


async def test_the_validator_keeps_bad_content_out(server, tmp_path):
    (tmp_path / "f").write_text("good")
    check = await checked(remote(tmp_path, server, validate="grep -q 9090 {path}"))
    assert check.error.startswith("validate: exit code 1 of grep")
    assert (tmp_path / "f").read_text() == "good"
    server.serve(NEW)
    await checked(remote(tmp_path, server, validate="grep -q 9090 {path}"))
    assert (tmp_path / "f").read_bytes() == NEW


@pytest.mark.parametrize(
    ("manner", "message"),
    [
        ("status/404", "HTTP request failed with status 404: Not Found"),
        ("status/503", "HTTP request failed with status 503"),
        ("short", "download failed"),
        ("loop", "download failed"),
    ],
)
async def test_a_server_that_misbehaves_leaves_the_file_as_it_is(server, tmp_path, manner, message):
    (tmp_path / "f").write_text("old")
    server.serve(BODY, etag=False)
    check = await checked(remote(tmp_path, server, manner))
    assert check.result is Result.FAILED
    assert message in check.error
    assert (tmp_path / "f").read_text() == "old"
    assert names_in(tmp_path) == ["f"]


async def test_a_broken_connection_is_gone_on_with(server, tmp_path, state):
    server.serve(body := os.urandom(300_000))
    server.cuts = 2
    await checked(remote(tmp_path, server, "cut", checksum=sha256(body)))
    assert (tmp_path / "f").read_bytes() == body
    first, *later = [fields.get("Range", "") for _, fields in server.asked]
    assert first == ""
    assert len(later) == 2
    assert all(asked.startswith("bytes=") for asked in later)
    assert os.listdir(f"{state}/downloads") == []


async def test_a_later_run_goes_on_with_what_has_come(server, tmp_path, state):
    server.serve(body := os.urandom(300_000))
    server.cuts = 6  # one more than a download puts up with
    check = await checked(remote(tmp_path, server, "cut", checksum=sha256(body)))
    assert check.result is Result.FAILED
    [partial] = os.listdir(f"{state}/downloads")
    had = os.path.getsize(f"{state}/downloads/{partial}")
    assert names_in(tmp_path) == []
    server.cuts = 0
    await checked(remote(tmp_path, server, "cut", checksum=sha256(body)))
    assert server.asked[-1][1]["Range"] == f"bytes={had}-"
    assert (tmp_path / "f").read_bytes() == body
    assert os.listdir(f"{state}/downloads") == []


async def test_without_a_state_directory_nothing_is_remembered(server, tmp_path):
    with state_directory_for(None):
        await checked(remote(tmp_path, server))
        assert (await checked(remote(tmp_path, server))).result is Result.OK
    assert conditions(server) == [None, None]


async def test_no_descriptor_is_left(server, tmp_path):
    await checked(remote(tmp_path, server))
    before = len(os.listdir("/proc/self/fd"))
    for port in range(5):
        server.serve(b"port = %d\n" % port)
        await checked(remote(tmp_path, server))
    assert len(os.listdir("/proc/self/fd")) <= before, "what others left may be collected meanwhile"


@pytest.mark.parametrize(("poll", "seconds"), [(None, 30), ("2m", 30), ("20s", 10)])
async def test_an_answer_is_valid_for_half_of_the_interval_of_poll_and_at_most_30_seconds(
    server, tmp_path, mock_clock, poll, seconds
):
    file = remote(tmp_path, server, meta={} if poll is None else {"poll": poll})
    for action in await look(file):
        await action.run()
    for _ in range(2):
        asked = len(server.asked)
        mock_clock.jump(seconds - 1)
        assert await look(file) == ()
        assert len(server.asked) == asked
        mock_clock.jump(1)
        assert await look(file) == ()
        assert len(server.asked) == asked + 1


async def test_a_file_larger_than_any_download_is_not_read(server, tmp_path, monkeypatch):
    monkeypatch.setattr("reactor.resources.file.make_reconciler._LARGEST", len(BODY))
    path = tmp_path / "f"
    for body, same in ((BODY, True), (BODY + b"\n", False)):
        path.write_bytes(body)
        path.chmod(0o644)
        state = await remote(tmp_path, server, checksum=sha256(body)).observe()
        assert state.same_content is same


async def test_a_download_that_takes_too_long_names_its_limit(server, tmp_path, monkeypatch):
    monkeypatch.setattr("reactor.resources.file.make_reconciler._TIMEOUT", 0.0)
    check = await checked(remote(tmp_path, server))
    assert check.error.endswith("download failed: it took longer than 0 s")
    assert "the next attempt resumes the download" in check.hint


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"source": "https://"}, "the url must be absolute"),
        ({"source": "http://[::1/x"}, "it is not a valid URL"),
        ({"source": "http://h/a b"}, "must not hold spaces"),
        ({"source": "/a", "checksum": "a" * 64}, "checksum is only valid with a source over http or https"),
        ({"checksum": "a" * 64}, "checksum is only valid with a source over http or https"),
        ({"source": "http://h/a", "checksum": "abc"}, "64 hexadecimal digits"),
        ({"source": "http://h/a", "content": "x"}, "mutually exclusive"),
    ],
)
def test_what_makes_no_sense_is_refused(properties, message):
    whole = {"name": "/f", "ensure": "present", "owner": "0", "group": "0", "mode": "0644", **properties}
    assert any(message in words for _, words, _ in problems(File, **whole))


def test_a_url_is_neither_watched_nor_required():
    file = make("/f", source="https://host/f")
    assert [watch.path for watch in file.watches()] == ["/f"]
    assert list(file.source_files()) == []
    assert "https://host/f" not in set(file.relations().depends_on)


def test_a_password_in_the_url_is_shown_nowhere_and_the_former_content_is_kept(server, tmp_path):
    server.authorization = "Basic YW5uOnBhc3MtdzByZA=="
    (tmp_path / "f").write_text("former")
    url = server.url("private", "app.conf?sig=t0k3n").replace("://", "://ann:{{ Data.password }}@")
    file = {
        "ensure": "present",
        "source": url,
        "owner": str(os.getuid()),
        "group": str(os.getgid()),
        "mode": "0600",
    }
    manifest = {"data": {"password": "pass-w0rd"}, "resources": [{"file": [{str(tmp_path / "f"): file}]}]}
    (tmp_path / "m.yaml").write_text(json.dumps(manifest))
    state = tmp_path / "state"
    command = [sys.executable, "-m", "reactor", "run", "--converge-once", "--diff", "--state-dir", str(state)]
    done = subprocess.run([*command, str(tmp_path / "m.yaml")], capture_output=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert (tmp_path / "f").read_bytes() == BODY
    kept = b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())
    restore = [sys.executable, "-m", "reactor", "restore", "--state-dir", str(state), str(tmp_path / "f")]
    subprocess.run(restore, capture_output=True, check=True)
    assert (tmp_path / "f").read_text() == "former"
    assert b"pass-w0rd" not in said + kept
    (tmp_path / "f").unlink()
    server.authorization = "another"
    done = subprocess.run([*command, str(tmp_path / "m.yaml")], capture_output=True, check=False)
    said = done.stdout + done.stderr
    assert b"401" in said
    assert b"pass-w0rd" not in said
    assert b"t0k3n" not in said.replace(url.encode(), b"")
