"""``reactor ensure api pipe``: one request, one answer, in CCM's protocol, and never a traceback."""

import grp
import hashlib
import io
import json
import os
import pwd
import re
import subprocess
import sys
from datetime import datetime

import pytest
import yaml
from processes_of_cli import environment

from reactor.ensure.protocol import noop_message

REQUEST = "io.choria.ccm.v1.resource.ensure.request"
RESPONSE = "io.choria.ccm.v1.resource.ensure.response"


@pytest.fixture
def pipe(reactor, monkeypatch):
    """Ask, and return the answer."""

    def ask(request, *options):
        text = request if isinstance(request, str | bytes) else json.dumps(request)
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        done = reactor("ensure", "api", "pipe", *options)
        assert done.code == 0, done.err
        answer = yaml.safe_load(done.out) if "--yaml" in options else json.loads(done.out)
        assert answer.pop("protocol") == RESPONSE
        return answer

    return ask


def request(kind, properties):
    return {"protocol": REQUEST, "type": kind, "properties": properties}


def file_properties(path, **more):
    own = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644", "ensure": "present"}
    return {"name": str(path), **own, **more}


def test_a_file_is_made_and_the_answer_is_ccms_event(pipe, tmp_path):
    path = tmp_path / "motd"
    state = pipe(request("file", file_properties(path, content="\U0001f600 x")))["state"]
    assert path.read_text() == "\U0001f600 x"
    assert state.pop("duration") > 0
    assert re.fullmatch(r"[0-9a-f]{28}", state.pop("event_id"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", state.pop("timestamp"))
    assert state.pop("properties") == file_properties(path, content="\U0001f600 x")
    status = state.pop("status")
    assert status.pop("timestamp").endswith("Z")
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    owned = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}
    changed = datetime.fromisoformat(status["metadata"].pop("mtime")).timestamp()
    assert changed == pytest.approx(path.stat().st_mtime, abs=1e-5)
    assert status == {
        "protocol": "io.choria.ccm.v1.resource.file.state",
        "type": "file",
        "name": str(path),
        "ensure": "present",
        "changed": True,
        "refreshed": False,
        "noop": False,
        "stable": False,
        "mode": "0644",
        "checksum": checksum,
        **owned,
        "metadata": {
            "name": str(path), "provider": "posix", "mode": "0644", "checksum": checksum, "size": 6, **owned,
        },
    }  # fmt: skip
    assert state == {
        "protocol": "io.choria.ccm.v1.transaction.event",
        "type": "file",
        "provider": "posix",
        "name": str(path),
        "requested_ensure": "present",
        "final_ensure": "present",
        "error": [],
        "changed": True,
        "refreshed": False,
        "failed": False,
        "skipped": False,
        "noop": False,
        "unmet_requirements": [],
    }
    again = pipe(request("file", file_properties(path, content="\U0001f600 x")))["state"]
    assert (again["changed"], again["failed"]) == (False, False)


def test_what_a_scaffold_changed_is_not_taken_for_whether_it_did(pipe, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "motd").write_text("hello")
    target = str(tmp_path / "out")
    wish = {"name": target, "ensure": "present", "source": str(tmp_path / "templates"), "engine": "jet"}
    status = pipe(request("scaffold", wish))["state"]["status"]
    assert (status["changed"], status["stable"]) == (True, False)
    about = {"name": target, "provider": "choria", "engine": "jet", "target_exists": True}
    assert status["metadata"] == {**about, "changed": [], "stable": [f"{target}/motd"], "purged": []}


def test_the_engine_of_a_scaffold_is_that_which_rendered_it(pipe, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "sum").write_text("[[ 1 + 1 ]]")
    wish = {"name": str(tmp_path / "out"), "ensure": "present", "source": str(tmp_path / "templates")}
    status = pipe(request("scaffold", wish))["state"]["status"]
    assert (tmp_path / "out" / "sum").read_text() == "2"
    assert status["metadata"]["engine"] == "jet"


def test_several_changes_are_said_in_ccms_words(pipe, tmp_path):
    wish = {
        "name": f"{tmp_path}/a.zip",
        "ensure": "present",
        "url": "http://127.0.0.1:1/a.zip",
        "owner": "0",
        "group": "0",
        "extract_parent": f"{tmp_path}/out",
    }
    state = pipe(request("archive", wish), "--noop")["state"]
    assert state["noop_message"] == "Would have downloaded. Would have extracted"


def test_changes_of_a_service_are_joined_as_ccm_joins_them():
    actions = ("Would have started", "Would have enabled")
    assert noop_message("service", actions) == "Would have started, would have enabled"


@pytest.mark.parametrize(
    ("kind", "properties", "told"),
    [
        ("exec", {"name": "true", "creates": "/etc"}, {"creates_satisfied": True, "onlyif_satisfied": False}),
        (
            "package",
            {"name": "no-such-package", "ensure": "absent"},
            {"metadata": {"name": "no-such-package", "provider": "apt", "version": "absent"}},
        ),
        (
            "archive",
            {"name": "/no.zip", "ensure": "absent", "url": "http://x/a.zip", "owner": "0", "group": "0"}
            | {"creates": "/etc"},
            {
                "metadata": {
                    "name": "/no.zip",
                    "provider": "http",
                    "archive_exists": False,
                    "creates_exists": True,
                }
            },
        ),
        ("sysctl", {"name": "kernel.ostype", "value": "Linux", "persist": False}, {"type": "sysctl"}),
    ],
)
def test_the_status_reports_what_ccm_reports_of_the_type(pipe, kind, properties, told):
    status = pipe(request(kind, properties))["state"]["status"]
    assert told.items() <= status.items()
    assert ("metadata" in told) == ("metadata" in status)


def test_yaml_is_understood_and_given(pipe, tmp_path):
    text = f"protocol: {REQUEST}\ntype: exec\nproperties:\n  - touch {tmp_path}/ran: {{timeout: 5s}}\n"
    state = pipe(text, "--yaml")["state"]
    assert (state["name"], state["changed"]) == (f"touch {tmp_path}/ran", True)
    assert (tmp_path / "ran").exists()


def test_numbers_stay_as_they_are_written(pipe, tmp_path):
    text = json.dumps(request("file", file_properties(tmp_path / "v", content="X"))).replace('"X"', "5.10")
    pipe(text)
    assert (tmp_path / "v").read_text() == "5.10"


def test_noop_says_what_would_be(pipe, tmp_path):
    state = pipe(request("file", file_properties(tmp_path / "x", content="")), "--noop")["state"]
    assert (state["noop"], state["changed"], state["noop_message"]) == (
        True,
        True,
        "Would have created the file",
    )
    assert not (tmp_path / "x").exists()


def test_a_failure_is_in_the_state(pipe):
    state = pipe(request("exec", {"name": "false", "alias": "f"}))["state"]
    assert (state["failed"], state["changed"], state["final_ensure"], state["status"]) == (
        True,
        False,
        "",
        None,
    )
    assert state["error"] == ["exit code 1 is not the accepted 0"]
    assert state["alias"] == "f"


def test_health_checks_are_reported(pipe):
    state = pipe(request("exec", {"name": "true", "health_checks": [{"command": "true"}]}))["state"]
    [check] = state["health_check"]
    assert (check["name"], check["status"], check["tries"]) == ("true", "ok", 1)


def test_secrets_are_not_reported(pipe, tmp_path):
    secret = "{{ secret('hunter22') }}"
    state = pipe(request("file", file_properties(tmp_path / "x", content=secret)))["state"]
    assert (tmp_path / "x").read_text() == "hunter22"
    assert "hunter22" not in json.dumps(state)


def test_a_session_is_looked_at_and_not_added_to(pipe, reactor, tmp_path, monkeypatch):
    session = tmp_path / "session"
    reactor("session", "new", "--directory", session)
    monkeypatch.setenv("REACTOR_SESSION", str(session))
    reactor("ensure", "exec", "false")
    state = pipe(request("exec", {"name": f"touch {tmp_path}/ran", "require": ["exec#false"]}))["state"]
    assert (state["skipped"], state["unmet_requirements"]) == (True, ["exec#false"])
    assert not (tmp_path / "ran").exists()
    assert json.loads(reactor("session", "report", "--format", "json").out)["total_resources"] == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'invalid protocol ""'),
        ("]", 'invalid protocol ""'),
        ("{", 'invalid protocol ""'),
        ("[1]", 'invalid protocol ""'),
        pytest.param("[" * 100_000, 'invalid protocol ""', id="deep"),
        pytest.param('{"a":' * 100 + "1" + "}" * 100, 'invalid protocol ""', id="too deep"),
        ('{"protocol": "x"}', 'invalid protocol "x"'),
        ({"protocol": REQUEST}, "missing type in request"),
        ({"protocol": REQUEST, "type": 5}, "missing type in request"),
        ({"protocol": REQUEST, "type": "file"}, "missing properties in request"),
        (request("exec", {"timeout": "5s"}), "name is required"),
        (request("exec", [{"a": {}}, {"b": {}}]), "multiple resources found"),
        (request("exec", [{"a": {}, "b": {}}]), "multiple resources found"),
        (request("exec", "true"), "multiple resources found"),
        (request("nope", {"name": "x"}), "invalid resource: unknown resource type nope"),
    ],
)
def test_what_is_wrong_with_the_request_is_an_answer_in_ccms_words(pipe, text, error):
    assert pipe(text) == {"error": error}


def test_what_is_wrong_with_the_properties_is_an_answer_with_all_of_it(pipe):
    error = pipe(request("file", {"name": "relative", "ensure": "presnt", "contents": "x"}))["error"]
    assert all(
        word in error for word in ("must be absolute", "presnt", "contents", "did you mean 'content'?")
    )


def test_what_is_no_text_is_an_answer(pipe):
    assert "not valid UTF-8" in pipe(request("exec", {"name": "\udcff"}))["error"]


def test_bytes_that_are_no_text_are_an_answer(pipe):
    assert pipe(b"\xff\xfe{")["error"] == "the request is not in UTF-8"


def test_a_requirement_without_a_session_is_an_answer(pipe):
    error = pipe(request("exec", {"name": "true", "require": "exec#x"}))["error"]
    assert error.startswith("this session has no resource exec#x")


def test_a_closed_stdin_is_an_empty_request():
    command = f"'{sys.executable}' -m reactor ensure api pipe <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == {"protocol": RESPONSE, "error": 'invalid protocol ""'}


def test_an_applied_manifest_is_present_by_the_resources_it_stands_for(pipe, tmp_path):
    child = tmp_path / "child.yaml"
    child.write_text("resources:\n  - exec:\n      - echo: {refreshonly: true}\n")
    state = pipe(request("apply", {"name": str(child)}))["state"]
    assert (state["requested_ensure"], state["final_ensure"]) == ("present", "present")
    assert (state["status"]["ensure"], state["status"]["members"]) == ("present", ["exec#echo"])


def test_an_applied_manifest_is_changed_by_its_resources_and_not_refreshed(pipe, tmp_path):
    child = tmp_path / "child.yaml"
    child.write_text("resources: [{exec: [{'true': {}}]}]\n")
    state = pipe(request("apply", {"name": str(child)}))["state"]
    assert (state["changed"], state["refreshed"], state["status"]["refreshed"]) == (True, False, False)
