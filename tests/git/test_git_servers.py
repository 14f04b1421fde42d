"""The other side: git's own daemon, HTTP with a password, and SSH, all on loopback."""

import base64
import getpass
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from git_worlds import FILES, git
from loopback import LoopbackServer
from one_shot import checked
from ports import free_port

from reactor.engine.events import Result
from reactor.roles.errors import RoleError
from reactor.roles.git import repository

PASSWORD = "p4ss-w0rd"


@contextmanager
def served(*words, port):
    """A server, from when it listens on ``port`` to the end of the block."""
    process = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert process.poll() is None, process.stderr.read()
        yield
    finally:
        process.terminate()
        process.communicate()


async def test_the_git_protocol_is_fetched_from(place):
    port = free_port()
    base = place.origin.path.parent
    words = ("git", "daemon", "--export-all", f"--base-path={base}", "--listen=127.0.0.1", f"--port={port}")
    with served(*words, "--reuseaddr", base, port=port):
        url = f"git://127.0.0.1:{port}/origin.git"
        await place.must_change(url=url)
        assert place.files() == FILES
        place.origin.commit({"README": "new\n"})
        await place.must_change(url=url, depth=1)
        assert place.files()["README"] == "new\n"
    result, _ = await place.converge(url=f"{url}x")
    assert result is Result.FAILED


class PasswordHandler(SimpleHTTPRequestHandler):
    """Serves a repository as files, to one user."""

    def do_GET(self):
        word = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
        self.server.asked.append(self.headers.get("Authorization"))
        if self.headers.get("Authorization") == f"Basic {word}":
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()

    def log_message(self, *_):
        """Nobody reads it."""


def test_a_password_is_sent_to_the_server_and_shown_nowhere(place, tmp_path, state_directory):
    git(place.origin.path, "update-server-info")
    handler = lambda *arguments: PasswordHandler(*arguments, directory=place.origin.path.parent)  # noqa: E731
    with LoopbackServer(handler) as server:
        server.asked = []
        url = f"{server.base}/origin.git".replace("http://", f"http://ada:{PASSWORD}@")
        manifest = tmp_path / "site.yaml"
        manifest.write_text(f'resources:\n  - git:\n      - {place.path}: {{url: "{url}"}}\n')
        words = [sys.executable, "-m", "reactor", "run", "--converge-once", "--format", "json", str(manifest)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert place.files() == FILES
        manifest.write_text(manifest.read_text().replace(PASSWORD, "wr0ng-w0rd"))
        wrong = subprocess.run([*words[:-1], str(manifest)], capture_output=True, text=True, check=False)
    written = [path for path in [*place.path.rglob("*"), *Path(state_directory).rglob("*")] if path.is_file()]
    for secret in (PASSWORD, base64.b64encode(f"ada:{PASSWORD}".encode()).decode(), "wr0ng-w0rd"):
        assert secret not in done.stdout + done.stderr + wrong.stdout + wrong.stderr
        assert not [path for path in written if secret.encode() in path.read_bytes()]
    assert server.base in git(place.path, "remote", "get-url", "origin")


class ElsewhereHandler(SimpleHTTPRequestHandler):
    """Redirects the first request to a server that asks for a password, as an attacker's may."""

    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", f"{self.server.other}{self.path}")
        self.end_headers()

    def log_message(self, *_):
        """Nobody reads it."""


@contextmanager
def redirected(user):
    """The URL of a repository, with credentials of ``user``, at a server that leads to another; what that one was told."""
    with LoopbackServer(PasswordHandler) as other, LoopbackServer(ElsewhereHandler) as server:
        other.asked, server.other = [], other.base
        yield f"{server.base}/origin.git".replace("http://", f"http://{user}@"), other.asked


async def test_a_server_that_is_redirected_to_gets_no_password(place):
    with redirected(f"ada:{PASSWORD}") as (url, told):
        result, said = await place.converge(url=url)
        assert result is Result.FAILED
        assert "could not read Username" in said
    assert set(told) == {None}


async def test_a_server_that_can_not_be_reached_is_an_error_with_what_to_check(place):
    check = await checked(place.resource(url=f"http://127.0.0.1:{free_port()}/app.git"))
    assert (check.result, check.hint) == (
        Result.FAILED,
        "check the url, and that the server can be reached from this host",
    )


def test_a_server_that_a_role_is_redirected_to_gets_no_password():
    with redirected(f"ada:{PASSWORD}") as (url, told), pytest.raises(RoleError):
        repository(url).commit_of("main")
    assert set(told) == {None}


def test_a_password_that_git_can_not_pass_on_is_refused(place):
    url = "https://ada:two%0Alines@example.org/app.git"
    with pytest.raises(ValueError, match="can't have a line break"):
        place.resource(url=url)
    with pytest.raises(RoleError, match="can't have a line break"):
        repository(url)


@pytest.fixture
def ssh(tmp_path):
    """An SSH server for the user that runs the tests, with one key: its port."""
    directory = tmp_path / "ssh"
    directory.mkdir()
    for name in ("host", "key", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name], check=True)
    port = free_port()
    settings = {
        "ListenAddress": "127.0.0.1", "Port": port, "HostKey": directory / "host", "PidFile": "none", "UsePAM": "no",
        "AuthorizedKeysFile": directory / "key.pub", "StrictModes": "no", "PermitRootLogin": "prohibit-password",
    }  # fmt: skip
    (directory / "config").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    (directory / "known_hosts").write_text(f"[127.0.0.1]:{port} {(directory / 'host.pub').read_text()}")
    with served("/usr/sbin/sshd", "-D", "-f", directory / "config", port=port):
        yield directory, port


async def test_ssh_requires_the_right_key_and_a_known_host(place, ssh):
    directory, port = ssh
    url = f"ssh://{getpass.getuser()}@127.0.0.1:{port}{place.origin.path}"
    known = {"known_hosts": str(directory / "known_hosts")}
    said = await place.must_fail(url=url, key=str(directory / "other"), **known)
    assert "Permission denied" in said or "ls-remote" in said
    (directory / "nobody").touch()
    said = await place.must_fail(url=url, key=str(directory / "key"), known_hosts=str(directory / "nobody"))
    assert "Host key verification failed" in said
    await place.must_change(url=url, key=str(directory / "key"), **known)
    assert place.files() == FILES


async def test_a_new_host_is_accepted_if_that_is_asked_for(place, ssh):
    directory, port = ssh
    known = directory / "new"
    config = {"key": str(directory / "key"), "known_hosts": str(known), "accept_new_host": True}
    url = f"ssh://{getpass.getuser()}@127.0.0.1:{port}{place.origin.path}"
    assert (await place.converge(url=url, **config))[0] is Result.CHANGED
    assert "ssh-ed25519" in known.read_text()
