"""Scripts written for the command line of CCM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from processes_of_cli import environment

from reactor.resource.redaction import forget_all


def named(entry):
    return entry.st_uid, entry.st_gid


def test_the_content_comes_from_a_file_as_it_is(reactor, tmp_path):
    (tmp_path / "source").write_text("one\ntwo\n\n")
    done = reactor("ensure", "file", tmp_path / "f", "--content-file", tmp_path / "source")
    assert done.code == 0, done.err
    assert (tmp_path / "f").read_text() == "one\ntwo\n\n"


def test_the_content_comes_from_stdin(tmp_path):
    command = [sys.executable, "-m", "reactor", "ensure", "file", tmp_path / "f", "--content-file", "-"]
    done = subprocess.run(command, input="piped\n", text=True, env=environment(), check=False)
    assert done.returncode == 0
    assert (tmp_path / "f").read_text() == "piped\n"


def test_two_contents_a_missing_one_and_one_that_is_no_text_are_refused(reactor, tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    file = ("ensure", "file", tmp_path / "f")
    both = reactor(*file, "--content", "x", "--content-file", tmp_path / "binary")
    assert (both.code, "--content and --content-file can't be used together" in both.err) == (2, True)
    assert "No such file" in reactor(*file, "--content-file", tmp_path / "nowhere").err
    assert "is not UTF-8 text" in reactor(*file, "--content-file", tmp_path / "binary").err
    assert not (tmp_path / "f").exists()


def test_an_owner_may_have_a_group_behind_it(reactor, tmp_path):
    ours = f"{os.getuid()}:{os.getgid()}"
    done = reactor("ensure", "file", tmp_path / "f", "--owner", ours, "--content", "x")
    assert done.code == 0, done.err
    assert named((tmp_path / "f").stat()) == (os.getuid(), os.getgid())


def test_the_group_of_an_owner_is_set(reactor, tmp_path):
    options = ("--owner", "61234:61235", "--content", "x", "--noop", "--diff")
    said = reactor("ensure", "file", tmp_path / "f", *options).out
    assert "+owner: 61234\n" in said
    assert "+group: 61235\n" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--owner", "a:b", "--group", "c"), "--owner and --group both name a group"),
        (("--owner", "a:"), "--owner a: lacks a name"),
    ],
)
def test_an_owner_that_contradicts_or_lacks_something_is_refused(reactor, tmp_path, given, said):
    done = reactor("ensure", "file", tmp_path / "f", "--content", "x", *given)
    assert (done.code, said in done.err) == (2, True)


def test_commands_take_variables_guards_and_subscriptions_in_the_short_form(reactor, tmp_path, monkeypatch):
    opened = reactor("session", "start", "--directory", tmp_path / "session")
    assert opened.code == 0
    monkeypatch.setenv("CCM_SESSION_STORE", str(tmp_path / "session"))
    assert reactor("ensure", "file", tmp_path / "f", "--content", "x").code == 0
    written = f"sh -c 'echo $GREETING > {tmp_path}/out'"
    refreshed = ("--refresh-only", "-S", f"file#{tmp_path}/f", "-e", "GREETING=hello")
    done = reactor("ensure", "exec", written, *refreshed)
    assert done.code == 0, done.err
    assert (tmp_path / "out").read_text() == "hello\n"
    guarded = reactor(
        "ensure", "exec", f"touch {tmp_path}/no", "--exec-if", "false", "--exec-unless", "false"
    )
    assert guarded.code == 0, guarded.err
    assert not (tmp_path / "no").exists()


def test_our_own_session_goes_before_that_of_ccm(reactor, tmp_path, monkeypatch):
    assert reactor("session", "create", "--directory", tmp_path / "ours").code == 0
    monkeypatch.setenv("CCM_SESSION_STORE", str(tmp_path / "nowhere"))
    monkeypatch.setenv("REACTOR_SESSION", str(tmp_path / "ours"))
    assert reactor("ensure", "file", tmp_path / "f", "--content", "x").code == 0


@pytest.mark.parametrize(("short", "kind"), [("pkg", "package"), ("svc", "service")])
@pytest.mark.parametrize("command", ["ensure", "show"])
def test_kinds_have_the_short_names_of_ccm(reactor, command, short, kind):
    assert reactor(command, short, "--help").out.replace(short, kind) == reactor(
        command, kind, "--help"
    ).out.replace(short, kind)


def test_piped_is_pipe(tmp_path):
    request = {
        "protocol": "io.choria.ccm.v1.resource.ensure.request",
        "type": "file",
        "properties": {"name": str(tmp_path / "d"), "ensure": "absent"},
    }
    command = [sys.executable, "-m", "reactor", "ensure", "api", "piped"]
    done = subprocess.run(
        command, input=json.dumps(request), capture_output=True, text=True, env=environment(), check=False
    )
    assert json.loads(done.stdout)["state"]["failed"] is False


@pytest.mark.parametrize("user", [None, "ada"])
def test_the_password_of_an_archive_comes_from_the_environment_where_a_user_is_named(
    reactor, tmp_path, monkeypatch, user
):
    monkeypatch.setenv("HTTP_PASSWORD", "hunter2-was-here")
    options = ("--url", "http://127.0.0.1:9/a.tar.gz", *(("--username", user) if user else ()))
    done = reactor("ensure", "archive", tmp_path / "a.tar.gz", "--noop", "--owner", "root:root", *options)
    assert "hunter2" not in done.out + done.err
    assert "every user of this host can read" not in done.err
    forget_all()


def test_facts_and_data_are_yaml_on_request(reactor, manifest):
    assert reactor("facts", "host.info", "--yaml").out.count("os: linux\n") == 1
    assert reactor("data", manifest("data: {a: {b: 1}}\nresources: []\n"), "--yaml").out == "a:\n  b: 1\n"
    assert json.loads(reactor("facts", "host.info.os", "--format", "json").out) == "linux"


def test_data_are_variables_of_a_shell_on_request(reactor, manifest):
    path = manifest("data: {name: two words, web.port: 80, rate: 1.5, list: [1, b]}\nresources: []\n")
    assert reactor("data", path, "--env").out == (
        "HIERA_LIST='[1,\"b\"]'\nHIERA_NAME='two words'\nHIERA_RATE=1.5\nHIERA_WEB_PORT=80\n"
    )
    assert reactor("data", path, "name", "--env", "--env-prefix", "APP").out == "APP_VALUE='two words'\n"
    assert reactor("data", path, "--env", "--yaml").code == 2


def test_variables_are_facts_on_request(reactor, manifest, monkeypatch):
    monkeypatch.setenv("ROLE", "db")
    path = manifest(
        "data: {size: small}\nhierarchy: {order: [\"role:{{ Facts.ROLE ?? 'none' }}\"]}\n"
        "overrides: {'role:db': {size: large}}\nresources: []\n"
    )
    sizes = [
        json.loads(reactor("data", path, "size", *options).out)
        for options in ((), ("-E",), ("-E", "--fact", "ROLE=web"))
    ]
    assert sizes == ["small", "large", "small"]


@pytest.fixture
def templates(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/greeting").write_text("hello\n")
    return tmp_path / "templates"


@pytest.mark.parametrize("ensure", [(), ("present",)])
def test_the_source_of_a_scaffold_may_come_after_its_name(reactor, tmp_path, templates, ensure):
    done = reactor("ensure", "scaffold", tmp_path / "target", templates, *ensure)
    assert done.code == 0, done.err
    assert (tmp_path / "target/greeting").read_text() == "hello\n"


def test_what_is_to_be_ensured_may_still_come_after_the_name_of_a_scaffold(reactor, tmp_path, templates):
    target = tmp_path / "target"
    assert reactor("ensure", "scaffold", target, "present", "--source", templates).code == 0
    assert reactor("ensure", "scaffold", target, "absent", "--source", templates).code == 0
    assert not (target / "greeting").exists()


def test_the_source_of_a_scaffold_can_not_be_given_twice(reactor, tmp_path, templates):
    done = reactor("ensure", "scaffold", tmp_path / "target", templates, "--source", templates)
    assert done.code == 2
    assert f"{templates} and --source can't be used together" in done.err
    assert not (tmp_path / "target").exists()


def test_the_url_of_an_archive_may_come_after_its_file(reactor, tmp_path):
    url = "http://127.0.0.1:9/a.tar.gz"
    words = ("ensure", "archive", tmp_path / "a.tar.gz", "--noop")
    done = reactor(*words, url)
    assert (done.code, "Would have downloaded" in done.out) == (0, True), done.err
    bad = reactor(*words, "http://127.0.0.1:9/a.txt")
    assert "the filename in the url must end in" in bad.err


def test_header_fields_are_also_written_with_a_colon(reactor, tmp_path):
    seen = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(dict(self.headers))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        server.timeout = 10
        serving = threading.Thread(target=server.handle_request)
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}/a.tar.gz"
        fields = (
            "-H",
            "Authorization: Bearer a=b:c",
            "--header",
            "X-Plain=c:d=e",
            "--owner",
            f"{os.getuid()}:{os.getgid()}",
        )
        done = reactor("ensure", "archive", tmp_path / "a.tar.gz", url, *fields)
        serving.join()
    assert done.code == 0, done.err
    assert (seen[0]["Authorization"], seen[0]["X-Plain"]) == ("Bearer a=b:c", "c:d=e")
    forget_all()


def test_the_data_are_those_that_the_variable_of_ccm_names(reactor, tmp_path, manifest, monkeypatch):
    (tmp_path / "site.yaml").write_text("data: {size: large}\n")
    (tmp_path / "other.yaml").write_text("data: {size: huge}\n")
    path = manifest("data: {size: small}\nresources: []\n")
    monkeypatch.setenv("CCM_HIERA_DATA", str(tmp_path / "site.yaml"))
    assert json.loads(reactor("data", path, "size").out) == "large"
    assert json.loads(reactor("data", path, "size", "--hiera", tmp_path / "other.yaml").out) == "huge"
    written = reactor("ensure", "file", tmp_path / "f", "--content", "{{ Data.size }}")
    assert written.code == 0, written.err
    assert (tmp_path / "f").read_text() == "large"
    monkeypatch.setenv("CCM_HIERA_DATA", str(tmp_path / "nowhere.yaml"))
    assert "nowhere.yaml" in reactor("run", "--converge-once", path).err
