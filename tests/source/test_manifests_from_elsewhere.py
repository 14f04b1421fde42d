"""Manifests behind URLs, from a real server on loopback that also misbehaves."""

import base64
import hashlib
import io
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import trustme
from loopback import LoopbackServer
from processes_of_cli import wait_until

from reactor import ManifestError, load
from reactor.cli.running.foresight import template_findings
from reactor.cli.running.last_valid import LastValidLoader
from reactor.loading import data_located
from reactor.manifest.inputs import Inputs
from reactor.source import download
from reactor.source.cache import fetched, unpack
from reactor.unpacking.members import UnpackingError


def archive(*members):
    """A gzipped tar; a member is (name, text), or a TarInfo."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            name, text = member
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def manifest(tmp_path, content):
    own = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
    return f"resources: [{{file: [{{'{tmp_path}/out': {{{own}, source: files/it}}}}]}}]", content


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(dict(self.headers))
        self.server.answer(self)

    def log_message(self, *_):
        pass


class Server(LoopbackServer):
    """Serves one body at every path; counts what it sent."""

    def __init__(self, tls=None):
        super().__init__(Handler, tls)
        self.body, self.status, self.credentials = b"", 200, None
        self.sent, self.asked = 0, []
        self.drips, self.dripping = None, 0
        self.leads_to = ""
        self.url = f"{self.base}/site.tar.gz"

    def answer(self, handler):
        etag = f'"{hashlib.sha256(self.body).hexdigest()}"'
        wanted = self.credentials and "Basic " + base64.b64encode(self.credentials.encode()).decode()
        status = self.status
        if wanted and handler.headers.get("Authorization") != wanted:
            status = 401
        elif status == 200 and handler.headers.get("If-None-Match") == etag:
            status = 304
        self.sent += status == 200
        if self.leads_to:
            handler.send_response(302)
            handler.send_header("Location", self.leads_to)
            handler.end_headers()
            return
        if self.drips:
            self.drip(handler.wfile)
            return
        handler.send_response(status)
        handler.send_header("ETag", etag)
        body = self.body if status == 200 else b""
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def drip(self, to):
        """Begin to answer, and then send a byte now and then for ever: of the header, or of the body."""
        self.dripping += 1
        with suppress(OSError):
            to.write(b"HTTP/1.1 200 OK\r\n" + (b"X-More: " if self.drips == "header" else b"\r\n"))
            while not self.over.wait(0.02):
                to.write(b"x")


@pytest.fixture
def server():
    with Server() as server:
        yield server


def site(tmp_path, content="one"):
    text, it = manifest(tmp_path, content)
    return archive(("site/manifest.yaml", text), ("site/files/it", it))


def test_an_archive_is_fetched_once_and_paths_start_in_it(server, tmp_path):
    server.body = site(tmp_path)
    warnings = []
    first = fetched(server.url, str(tmp_path / "cache"), warnings.append)
    second = fetched(server.url, str(tmp_path / "cache"), warnings.append)
    assert first == second
    assert server.sent == 1
    assert len(server.asked) == 2
    assert Path(load(first).graph.resources[f"file#{tmp_path}/out"].source).read_text() == "one"
    assert warnings == []


def test_an_error_of_a_manifest_from_elsewhere_hides_none_of_its_templates(server, tmp_path):
    text, _ = manifest(tmp_path, "")
    text = text.replace("source: files/it", "template: files/it").replace(
        "}}]}]", "}}, {/x: {ensure: presnt}}]}]"
    )
    server.body = archive(("site/manifest.yaml", text), ("site/files/it", "{% if x %}"))
    with pytest.raises(ManifestError) as caught:
        load(server.url, Inputs(cache=str(tmp_path / "cache")))
    found = template_findings(caught.value.valid, caught.value.invalid_names)
    assert found.errors[0].message.startswith("Unexpected end of template")


def test_an_archive_is_rendered_as_a_file_is(server, tmp_path):
    server.body = site(tmp_path)
    command = [sys.executable, "-m", "reactor", "render", "--cache", tmp_path / "cache", server.url]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert f"name: {tmp_path}/out" in done.stdout
    assert server.sent == 1


@pytest.mark.parametrize("trouble", ["away", "error", "rubbish"])
def test_the_last_good_one_is_used_while_the_source_is_unusable(server, tmp_path, trouble):
    server.body = site(tmp_path)
    good = fetched(server.url, str(tmp_path / "cache"), lambda _: None)
    if trouble == "away":
        server.shutdown()
        server.server_close()
    elif trouble == "error":
        server.status = 500
    else:
        server.body = b"not an archive"
    warnings = []
    assert fetched(server.url, str(tmp_path / "cache"), warnings.append) == good
    assert len(warnings) == 1
    assert "last valid version" in warnings[0]


def scratch(tmp_path):
    """What lies in the cache and is no version."""
    [source] = (tmp_path / "cache").iterdir()
    versions = {each.name for each in source.iterdir() if (each / "site").is_dir()}
    return {each.name for each in source.iterdir()} - versions - {"current.json"}


@pytest.mark.parametrize("drips", ["header", "body"])
def test_a_server_that_drips_is_given_up(server, tmp_path, monkeypatch, drips):
    server.body = site(tmp_path)
    good = fetched(server.url, str(tmp_path / "cache"), lambda _: None)
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    server.drips = drips
    warnings = []
    assert fetched(server.url, str(tmp_path / "cache"), warnings.append) == good
    [warning] = warnings
    assert "took more than 0.3 s" in warning
    assert scratch(tmp_path) == set()


def test_a_slow_server_that_keeps_the_pace_is_waited_for(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 1)
    monkeypatch.setattr(download, "PACE", 1)
    monkeypatch.setattr(download, "MAX_BYTES", 60)  # the server needs more than a second for that
    server.drips = "body"
    with pytest.raises(ManifestError, match="is larger than"):
        fetched(server.url, str(tmp_path / "cache"), lambda _: None)


def test_what_a_killed_fetch_leaves_is_removed_by_the_next_and_what_a_living_one_holds_is_not(
    server, tmp_path
):
    server.drips = "body"
    code = "import sys; from reactor.source.cache import fetched; fetched(sys.argv[1], sys.argv[2], print)"
    command = [sys.executable, "-c", code, server.url, tmp_path / "cache"]
    with subprocess.Popen(command) as killed, subprocess.Popen(command) as living:
        wait_until(lambda: server.dripping == 2)
        try:
            killed.kill()
            killed.wait()
            assert len(scratch(tmp_path)) == 2
            server.drips, server.body = None, site(tmp_path)
            fetched(server.url, str(tmp_path / "cache"), lambda _: None)
            assert len(scratch(tmp_path)) == 1
        finally:
            living.send_signal(signal.SIGINT)
    assert scratch(tmp_path) == set(), "^C leaves nothing"


def test_without_a_good_one_the_error_says_what_happened(server, tmp_path):
    server.status = 404
    with pytest.raises(ManifestError, match="failed with status 404"):
        fetched(server.url, str(tmp_path / "cache"), lambda _: None)


def test_a_new_version_takes_the_place_of_the_old_one(server, tmp_path):
    for content in ("one", "two", "three"):
        server.body = site(tmp_path, content)
        path = Path(fetched(server.url, str(tmp_path / "cache"), lambda _: None))
        assert (path.parent / "files/it").read_text() == content
    [source] = (tmp_path / "cache").iterdir()
    assert len([each for each in source.iterdir() if each.is_dir()]) == 2, "this one and the one before"


def test_credentials_are_sent_and_shown_nowhere(server, tmp_path):
    server.credentials = "deploy:s3cr3t-pass"
    server.body = site(tmp_path)
    url = server.url.replace("http://", "http://deploy:s3cr3t-pass@")
    command = [sys.executable, "-m", "reactor", "run", "--converge-once", "--format", "json"]
    command += ["--cache", tmp_path / "cache", "--state-dir", tmp_path / "state", url]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_text() == "one"
    wrong = subprocess.run(
        [*command[:-1], url.replace("/site", "/other").replace("s3cr3t", "wr0ng!")],
        capture_output=True,
        check=False,
    )
    assert wrong.returncode == 2
    assert b"failed with status 401" in wrong.stderr
    state = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    for output in (done.stdout, done.stderr, wrong.stdout, wrong.stderr, state):
        assert b"s3cr3t" not in output
        assert b"wr0ng!" not in output


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://host/x.tar.gz", "unsupported manifest source: ftp://host/x.tar.gz"),
        ("file:///x.tar.gz", "unsupported manifest source"),
        ("https://host/x.yaml", "is not a .tar.gz archive"),
        ("http://[::1/x.tar.gz", "has an invalid host or port"),
        ("http://u:p@host:abc/x.tar.gz", "has an invalid host or port"),
        ("http://host:99999/x.tar.gz", "has an invalid host or port"),
        ("http://xn--a/x.tar.gz", "http://xn--a/x.tar.gz failed: "),
    ],
)
def test_what_is_no_archive_over_http_is_refused(tmp_path, url, message):
    with pytest.raises(ManifestError, match=message):
        load(url, Inputs(cache=str(tmp_path)))


def test_a_server_that_is_not_there_is_reported(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/x.tar.gz"
        with pytest.raises(ManifestError, match=f"{url} failed: .*Connection refused"):
            load(url, Inputs(cache=str(tmp_path)))


def special(name, kind, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


HOSTILE = {
    "traversal": [("../evil", "x")],
    "inner traversal": [("a/../../evil", "x")],
    "absolute": [("/tmp/evil", "x")],
    "symlink": [special("link", tarfile.SYMTYPE, "/etc/passwd")],
    "hard link": [special("link", tarfile.LNKTYPE, "/etc/passwd")],
    "device": [special("null", tarfile.CHRTYPE)],
    "pipe": [special("pipe", tarfile.FIFOTYPE)],
    "no manifest": [("other.yaml", "x")],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_and_nothing_is_written_outside(tmp_path, name):
    (tmp_path / "in").mkdir()
    (tmp_path / "x.tar.gz").write_bytes(archive(*HOSTILE[name]))
    with pytest.raises(UnpackingError):
        unpack(tmp_path / "x.tar.gz", tmp_path / "in")
    assert {path.name for path in tmp_path.iterdir()} == {"in", "x.tar.gz"}
    assert not Path("/tmp/evil").exists()


def test_a_cut_off_archive_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "x.tar.gz").write_bytes(archive(("manifest.yaml", "x" * 100_000))[:-40])
    with pytest.raises(UnpackingError):
        unpack(tmp_path / "x.tar.gz", tmp_path / "in")


DATA = "hierarchy: {order: [\"role:${ Facts.role ?? 'none' }\"]}\ndata: {name: site}\noverrides: {'role:db': {name: db}}\n"
SAYING = "data: {name: own}\nresources: [{exec: ['echo {{ Data.name }}': {}]}]\n"


def with_data(server, tmp_path, **inputs):
    """The program of a manifest whose data are overridden by those behind a URL."""
    server.url = server.url.replace("site.tar.gz", "site.yaml")
    (tmp_path / "m.yaml").write_text(SAYING)
    return load(str(tmp_path / "m.yaml"), Inputs(site=server.url, cache=str(tmp_path / "cache"), **inputs))


def test_data_are_fetched_and_resolved(server, tmp_path):
    server.body = DATA.encode()
    assert with_data(server, tmp_path).data == {"name": "site"}
    program = with_data(server, tmp_path, facts={"role": "db"})
    assert program.data == {"name": "db"}
    assert server.sent == 1
    assert any(Path(each).read_text() == DATA for each in program.files)


def test_the_last_good_data_are_used_and_that_is_said(server, tmp_path):
    server.body = DATA.encode()
    with_data(server, tmp_path)
    server.status = 500
    program = with_data(server, tmp_path)
    assert program.data == {"name": "site"}
    assert any("last valid version" in each for each in program.warnings)


@pytest.mark.parametrize("body", [b"data: [", b"<html>", b"data: {name: \xff}", b"overrides: 5"])
def test_data_that_are_unusable_do_not_replace_the_last_good(server, tmp_path, body):
    server.body = DATA.encode()
    with_data(server, tmp_path)
    server.body = body
    for _ in range(2):
        program = with_data(server, tmp_path)
        assert program.data == {"name": "site"}
        assert any("is invalid: " in each and "last valid version" in each for each in program.warnings)
    server.body = DATA.replace("site", "new").encode()
    assert with_data(server, tmp_path).data == {"name": "new"}


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [(404, b"", "failed with status 404"), (200, b"", "is empty"), (200, b"- a list", "not a list")],
)
def test_data_that_are_unusable_are_an_error(server, tmp_path, status, body, message):
    server.status, server.body = status, body
    with pytest.raises(ManifestError, match=message):
        with_data(server, tmp_path)


@pytest.mark.parametrize("url", ["http://[::1/site.yaml", "http://[::1/x.tar.gz", "http://h:x/site.yaml"])
def test_data_at_a_url_that_can_not_be_are_refused(url):
    with pytest.raises(ManifestError, match="has an invalid host or port"):
        data_located(url, Inputs(), lambda _: None)


@pytest.mark.parametrize(
    "url", ["kv://bucket", "kv://buc ket/key", "obj:///key", "file:///etc/site.yaml", "https:///x"]
)
def test_data_from_elsewhere_are_refused(tmp_path, url):
    (tmp_path / "m.yaml").write_text(SAYING)
    with pytest.raises(ManifestError, match="unsupported hiera data source: "):
        load(str(tmp_path / "m.yaml"), Inputs(site=url))


def test_the_data_command_takes_both_kinds_of_url(server, tmp_path):
    command = [sys.executable, "-m", "reactor", "data", "--cache", tmp_path / "cache"]
    server.body = archive(("site/manifest.yaml", SAYING))
    done = subprocess.run([*command, server.url], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == {"name": "own"}
    server.body = DATA.encode()
    done = subprocess.run([*command, server.url + ".yaml"], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == {"name": "site"}


def converger(tmp_path, *args):
    """A run that looks for new versions all the time."""
    code = "import reactor.cli.running.reloading as r; r.REFETCH_INTERVAL = 0.05; from reactor.cli import main; main()"
    options = ["--format", "json", "--cache", tmp_path / "cache", "--state-dir", tmp_path / "state"]
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", *options, *args], stdout=subprocess.PIPE, text=True
    )


def converged_when(process, condition, otherwise):
    """Wait for a converged run of which the condition is true; until then, do something each time it converges."""
    for line in process.stdout:
        if json.loads(line)["event"] == "converged":
            if condition():
                break
            otherwise()
    process.send_signal(signal.SIGTERM)


def test_a_new_version_reaches_a_running_converger(server, tmp_path):
    server.body = site(tmp_path)
    with converger(tmp_path, server.url) as process:
        converged_when(
            process,
            lambda: (tmp_path / "out").read_text() == "two",
            lambda: setattr(server, "body", site(tmp_path, "two")),
        )
    assert (tmp_path / "out").read_text() == "two"


def test_an_invalid_version_is_reported_once_however_often_it_is_looked_at(server, tmp_path):
    server.body, reported = site(tmp_path), 0
    with converger(tmp_path, server.url) as process:
        for line in process.stdout:
            event = json.loads(line)["event"]
            reported += event == "reloadrejected"
            if event == "converged" and not reported:
                server.body = archive(("site/manifest.yaml", "resources: [nonsense"))
            elif event == "reloadrejected" and reported == 1:
                asked = len(server.asked)
                wait_until(lambda wanted=asked + 5: len(server.asked) >= wanted)
                server.body = site(tmp_path)
            elif event == "reloaded" and reported:
                process.send_signal(signal.SIGTERM)
    assert reported == 1


def newest_is_invalid(tmp_path, server):
    """The inputs, the loader of a run that starts, and the version that an earlier run has had in force."""
    inputs = Inputs(cache=str(tmp_path / "cache"))
    server.body = site(tmp_path)
    before = LastValidLoader([server.url], load).load(inputs)
    for version in range(3):
        server.body = archive(("site/manifest.yaml", f"resources: [nonsense{version}"))
        fetched(server.url, inputs.cache, lambda _: None)
    return inputs, LastValidLoader([server.url], load), before


def test_a_run_starts_with_the_last_valid_version_while_the_newest_is_invalid(server, tmp_path):
    inputs, loader, before = newest_is_invalid(tmp_path, server)
    loaded = loader.load(inputs)
    assert (loaded.path, loaded.files) == (before.path, before.files)
    assert loaded.rejected is not None
    assert "the list is not closed" in loaded.rejected.message


def test_a_run_that_starts_with_the_last_valid_version_says_that_the_newest_is_rejected(server, tmp_path):
    newest_is_invalid(tmp_path, server)
    with converger(tmp_path, server.url) as process:
        events = (json.loads(line) for line in process.stdout)
        [problem] = next(each for each in events if each["event"] == "reloadrejected")["problems"]
        asked = len(server.asked)
        wait_until(lambda: len(server.asked) >= asked + 5)
        assert "rejected" in subprocess.run(
            [sys.executable, "-m", "reactor", "status", "--state-dir", tmp_path / "state"],
            capture_output=True, check=False, text=True,
        ).stdout  # fmt: skip
        process.send_signal(signal.SIGTERM)
        assert [each for each in events if each["event"] == "reloadrejected"] == [], "it is said once"
    assert "the list is not closed" in problem


def test_a_run_that_has_started_leaves_its_version_in_force_instead(server, tmp_path):
    inputs, loader, _ = newest_is_invalid(tmp_path, server)
    loader.load(inputs)
    with pytest.raises(ManifestError, match="the list is not closed"):
        loader.load(inputs)


def test_without_a_valid_version_a_run_does_not_start(server, tmp_path):
    server.body = archive(("site/manifest.yaml", "resources: [nonsense"))
    with pytest.raises(ManifestError, match="the list is not closed"):
        LastValidLoader([server.url], load).load(Inputs(cache=str(tmp_path / "cache")))


def test_new_data_reach_a_running_converger(server, tmp_path):
    server.body = b"data: {content: one}"
    own = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
    manifest = tmp_path / "m.yaml"
    manifest.write_text(
        f"resources: [{{file: ['{tmp_path}/out': {{{own}, content: '{{{{ Data.content }}}}'}}]}}]"
    )
    with converger(tmp_path, "--hiera", server.url.replace("tar.gz", "yaml"), manifest) as process:
        converged_when(
            process,
            lambda: (tmp_path / "out").read_text() == "two",
            lambda: setattr(server, "body", b"data: {content: two}"),
        )
    assert (tmp_path / "out").read_text() == "two"


def test_a_redirect_from_https_to_http_is_not_followed(server, tmp_path, monkeypatch):
    server.body = site(tmp_path)
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with Server(context) as safe:
        safe.leads_to = server.url
        with pytest.raises(ManifestError, match="redirects from https to http, to "):
            fetched(safe.url, str(tmp_path / "cache"), lambda _: None)
    assert server.asked == []


def test_a_cache_that_can_not_be_is_reported_as_that(server, tmp_path):
    server.body = site(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ManifestError, match=f"can't keep what is fetched in {tmp_path}/file: Not a directory"
    ) as caught:
        fetched(server.url, str(tmp_path / "file"), lambda _: None)
    assert caught.value.diagnostics[0].hint == "name another directory with --cache"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
@pytest.mark.parametrize("harm", ["the cache", "the source in it", "the directory above", "everybody writes"])
def test_the_last_good_version_in_a_cache_that_others_could_change_is_not_run(server, tmp_path, harm):
    cache = tmp_path / "above" / "cache"
    run = ["run", "--converge-once", "--cache", cache, "--state-dir", tmp_path / "state", server.url]
    server.body = archive(("site/manifest.yaml", "resources: [{exec: ['true': {}]}]"))
    assert finished(*run).returncode == 0
    server.body = b"no archive"
    [kept] = cache.rglob("manifest.yaml")
    kept.write_text(f"resources: [{{exec: ['touch {tmp_path}/ran': {{}}]}}]")
    [source] = cache.iterdir()
    foreign = {"the cache": cache, "the source in it": source}.get(harm, cache.parent)
    if harm == "everybody writes":
        foreign.chmod(0o777)
    else:
        os.chown(foreign, 12345, 12345)
    done = finished(*run)
    assert (done.returncode, (tmp_path / "ran").exists()) == (2, False)
    assert "can't be trusted" in done.stderr
    assert "--cache" in done.stderr
    os.chown(foreign, 0, 0)
    foreign.chmod(0o755)
    assert finished(*run).returncode == 0
    assert (tmp_path / "ran").exists()


def finished(*words):
    command = [sys.executable, "-m", "reactor", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
