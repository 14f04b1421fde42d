"""The steps of docs/code-paths.md are in the code, and a run takes them in that order."""

import os
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from code_names import resolve
from files_of_cli import put
from processes_of_cli import finish, next_event, spawned, wait_until

PAGE = (Path(__file__).parents[2] / "docs/code-paths.md").read_text()
PATHS = {
    title: re.findall(r"`(reactor\.[\w.]+)`", "".join(line for line in text.splitlines() if line.startswith("|")))
    for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}  # fmt: skip
OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644'"
TRACE = """
import os, sys
wanted, calls = {names!r}, os.open({calls!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def profile(frame, event, _):
    name = frame.f_globals.get("__name__", "") + "." + frame.f_code.co_qualname
    if event == "call" and name in wanted:
        os.write(calls, (name + "\\n").encode())
sys.setprofile(profile)
from reactor.cli import main
main()
"""


class Traced:
    """Runs that record which steps of a path they take."""

    def __init__(self, directory, title):
        self.directory = directory
        self.names = PATHS[title]
        self.calls = directory / "calls"
        self.program = ("-c", TRACE.format(names=set(self.names), calls=str(self.calls)))
        self.site = directory / "site.yaml"

    def write(self, text):
        put(self.site, text)

    def once(self, *args):
        with spawned(*args, self.site, program=self.program) as process:
            return finish(process)

    @contextmanager
    def staying(self):
        state = ("--state-dir", self.directory / "state")
        with spawned("run", "--format", "json", *state, self.site, program=self.program) as process:
            yield process
            process.send_signal(signal.SIGTERM)
            finish(process)

    def missed(self):
        """The first step that was not taken after those before it; None if all were."""
        calls = iter(self.calls.read_text().splitlines())
        return next((name for name in self.names if name not in calls), None)


@pytest.fixture
def traced(tmp_path):
    return lambda title: Traced(tmp_path, title)


@pytest.mark.parametrize("title", PATHS)
def test_each_step_is_in_the_code(title):
    assert len(PATHS[title]) > 10
    for name in PATHS[title]:
        resolve(name)


def test_an_inotify_event_leads_to_a_repaired_file(traced, tmp_path):
    path = traced("From an inotify event to a repaired file")
    path.write(f"resources: [{{file: [{tmp_path}/f: {{ensure: present, content: right, {OWN}}}]}}]\n")
    with path.staying() as process:
        next_event(process, "converged")
        (tmp_path / "f").write_text("wrong")
        next_event(process, "checked", result="changed")
        assert (tmp_path / "f").read_text() == "right"
    assert path.missed() is None


@pytest.fixture
def namespace():
    name = f"code-paths-{os.getpid()}"
    ip("netns", "add", name)
    yield name
    ip("netns", "delete", name)


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace")
def test_a_netlink_event_leads_to_a_repaired_address(traced, namespace):
    path = traced("From a netlink event to a repaired address")
    path.write(f"resources: [{{address: [192.0.2.1/24: {{link: lo, netns: {namespace}}}]}}]\n")
    with path.staying() as process:
        next_event(process, "converged")
        ip("-n", namespace, "address", "delete", "192.0.2.1/24", "dev", "lo")
        next_event(process, "checked", result="changed")
        assert "192.0.2.1/24" in ip("-n", namespace, "address")
    assert path.missed() is None


def test_a_line_of_yaml_becomes_a_valid_resource_or_an_error_at_its_place(traced, tmp_path):
    path = traced("From a line of YAML to a valid resource")
    entry = f"{{file: [{tmp_path}/f: {{ensure: present, {OWN}}}]}}"
    path.write(f"resources:\n  - {entry}\n  - {entry.replace('/f', '/g').replace('present', 'gone')}\n")
    done = path.once("validate")
    assert (done.code, "site.yaml:3:" in done.err) == (2, True), done
    assert path.missed() is None


def test_a_dry_run_reports_what_it_would_do(traced, tmp_path):
    path = traced("A report of `--noop`")
    path.write(
        f"resources:\n  - file: [{tmp_path}/f: {{ensure: present, {OWN}}}]\n"
        f"  - file: [{tmp_path}/none/f: {{ensure: present, {OWN}}}]\n"
    )
    done = path.once("run", "--converge-once", "--noop", "--jobs", "1")
    assert f"file#{tmp_path}/f  would change" in done.out
    assert not (tmp_path / "f").exists()
    assert path.missed() is None


def test_a_failure_leads_to_a_notification(traced, tmp_path):
    path = traced("From a failure to a notification")
    sent = tmp_path / "sent"
    channel = f"{{command: [/bin/sh, -c, 'cat > {sent}.new; mv {sent}.new {sent}'], group_wait: 0s}}"
    path.write(
        f"notify: {{hook: {channel}}}\nresources: [{{file: [{tmp_path}/none/f: {{ensure: present, {OWN}}}]}}]\n"
    )
    with path.staying():
        wait_until(sent.exists)
        assert f"file#{tmp_path}/none/f" in sent.read_text()
    assert path.missed() is None
