"""A push that nothing has changed for is proven without a run; whatever has changed is found by one."""

import hashlib
import json
import os
import subprocess
import sys
import time
from io import BufferedReader, BytesIO
from types import SimpleNamespace

import pytest
from nats_servers import PATIENCE
from processes_of_cli import wait_until

from reactor.cli.running import proof, receive_evidence
from reactor.cli.running.provable_manifest import NotProvableError, provable_paths
from reactor.cli.running.receive_proof import report_proven
from reactor.cli.running.receiving import receive_push
from reactor.facts.facts import Facts
from reactor.fleet.bundle.limits import LIMITS
from reactor.fleet.bundle.pack import pack
from reactor.fleet.push.request import Request
from reactor.journal.schema import open_for_writing
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.trust.inputs import open_input

OLD = 0.05
"""Seconds after which a stamp certainly shows a later change."""
OWN = {"owner": str(os.getuid()), "group": str(os.getgid())}
FACTS = {"fleet": {"name": "web1", "vars": {"colour": "green"}, "groups": ["all"]}}


def wait_for_stamps(path):
    """Wait until the stamps of ``path`` and of its directory certainly show a later change."""
    wait_until(lambda: time.time() - max(path.stat().st_ctime, path.parent.stat().st_ctime) > OLD)


class Host:
    """A state directory, and files that a bundle manages. What runs is this process."""

    def __init__(self, directory, capfd):
        self.state = directory / "state"
        self.managed = directory / "managed"
        self.managed.mkdir()
        self.file = self.managed / "web1"
        self.site = directory / "site"
        self.site.mkdir()
        self.facts = FACTS
        self._capfd = capfd
        (self.site / "source").write_text("copied\n")
        self.write(
            {f"{self.managed}/{{{{ Facts.fleet.name }}}}": {"ensure": "present", "content": "as desired\n", "mode": "0644", **OWN}},
            {str(self.managed / "copy"): {"ensure": "present", "source": "source", "mode": "0600", **OWN}},
            {str(self.managed / "directory"): {"ensure": "directory", "mode": "0755", **OWN}},
        )  # fmt: skip

    def write(self, *files):
        (self.site / "manifest.yaml").write_text(json.dumps({"resources": [{"file": [*files]}]}))

    def sent(self, **options):
        bundle = pack(str(self.site), LIMITS, open_input)
        return Request(bundle.digest, len(bundle.data), self.facts, **options), bundle.data

    def push(self):
        """Push by a run; return its events."""
        request, data = self.sent()
        receive_push(request, str(self.state), BytesIO(data))
        return self.events()

    def proves(self, **options):
        """Whether a push is proven to have nothing to do."""
        request, _ = self.sent(**options)
        return report_proven(str(self.state), BufferedReader(BytesIO(request.line())))

    def events(self):
        return [json.loads(line) for line in self._capfd.readouterr().out.splitlines()]

    def settle(self):
        """Push until all is as desired, so that the next push is proven."""
        pushed = self.push()
        assert pushed[-1]["result"] == "changed", pushed
        for each in self.managed.iterdir():
            wait_for_stamps(each)
        assert self.push()[-1]["result"] == "ok"

    def fleet(self):
        return self.state / "fleet"


@pytest.fixture
def host(tmp_path, capfd, monkeypatch):
    modules = tmp_path / "modules"
    modules.mkdir()
    began = time.time_ns()  # as in a process that begins when the modules are there
    monkeypatch.setattr(receive_evidence, "BEGAN", began)
    monkeypatch.setattr(proof, "BEGAN", began)
    monkeypatch.setattr(proof, "sys", SimpleNamespace(path=[str(modules)]))
    # The name of the test is in the environment, and differs between its steps.
    monkeypatch.setattr(proof, "session_identity", lambda: os.environ.get("COLOUR", "").encode())
    wait_until(lambda: time.time_ns() > began)
    return Host(tmp_path, capfd)


def without_times(events):
    return [
        {name: value for name, value in each.items() if name not in ("time", "duration")} for each in events
    ]


def test_a_proven_push_reports_what_a_run_does(host):
    host.settle()
    by_a_run = host.push()
    assert host.proves()
    proven = host.events()
    assert without_times(proven) == without_times(by_a_run)
    assert [[*each] for each in proven] == [[*each] for each in by_a_run]
    assert all(time.time() - each["time"] < PATIENCE for each in proven)


def test_a_proven_push_is_in_the_journal_as_a_run_is(host):
    host.settle()
    host.push()
    assert host.proves()
    connection = open_for_writing(str(host.state / "journal.sqlite"))
    kept = "SELECT event, ref, result, generation, record FROM events ORDER BY id DESC LIMIT 2"
    (*new, record), (*old, before) = connection.execute(kept).fetchall()
    connection.close()
    assert new == old
    assert without_times([json.loads(record)]) == without_times([json.loads(before)])
    assert host.proves()  # its own row is no change


def edit_content(host):
    before = host.file.stat()
    host.file.write_text("as Desired\n")
    os.utime(host.file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_link(host):
    (host.managed.parent / "other").write_text("as desired\n")
    host.file.unlink()
    host.file.symlink_to(host.managed.parent / "other")


def link_directory(host):
    moved = host.managed.with_name("moved")
    host.managed.rename(moved)
    host.managed.symlink_to(moved)


def edit_bundle(host):
    (source,) = host.fleet().glob("bundles/*/source")
    source.write_text("other\n")


def write_event(host):
    connection = open_for_writing(str(host.state / "journal.sqlite"))
    connection.execute("INSERT INTO events (time, event, ref, record) VALUES (1, 'checked', 'file#/x', '{}')")
    connection.close()


def change_proof(host, **values):
    root = str(host.fleet())
    proof.write_proof(root, json.dumps({**json.loads(proof.read_proof(root)), **values}))


CHANGES = {
    "content": edit_content,
    "mode": lambda host: host.file.chmod(0o640),
    "mode of a directory": lambda host: (host.managed / "directory").chmod(0o700),
    "no file": lambda host: host.file.unlink(),
    "a link": replace_by_link,
    "a second name": lambda host: (host.managed / "second").hardlink_to(host.file),
    "a link above": link_directory,
    "what a killed run left": lambda host: (host.managed / ".web1.reactor-x").touch(),
    "the bundle": edit_bundle,
    "facts": lambda host: host.__dict__.update(facts={"fleet": {**FACTS["fleet"], "name": "web2"}}),
    "environment": lambda _: os.environ.update(COLOUR="red"),
    "a pause": lambda host: (host.state / "pauses.json").touch(),
    "a run that did not begin": lambda host: (host.state / "refused.json").touch(),
    "a new module": lambda host: (host.state.parent / "modules/new.py").touch(),
    "another run": write_event,
    "no journal": lambda host: (host.state / "journal.sqlite").unlink(),
    "a new manifest": lambda host: host.write({str(host.file): {"ensure": "absent"}}),
    "a day": lambda host: change_proof(host, made=time.time() - 90000),
    "a clock set back": lambda host: change_proof(host, made=time.time() + 60),
    "another boot": lambda host: change_proof(host, session=hashlib.sha256(b"").hexdigest()),
    "a proof in part": lambda host: (host.fleet() / "proof.json").write_text("{"),
    "a proof of another form": lambda host: change_proof(host, more=1),
    "no proof": lambda host: (host.fleet() / "proof.json").unlink(),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_found_by_a_run(host, monkeypatch, change):
    monkeypatch.delenv("COLOUR", raising=False)
    host.settle()
    assert host.proves()
    CHANGES[change](host)
    host.events()
    assert not host.proves()
    assert host.events() == []
    monkeypatch.delenv("COLOUR", raising=False)


def test_other_requests_are_for_a_run(host):
    host.settle()
    assert not host.proves(noop=True)
    assert not host.proves(stay=True)
    assert not report_proven(str(host.state), BufferedReader(BytesIO(b"")))
    assert not report_proven(str(host.state), BufferedReader(BytesIO(b"{}\n")))
    assert host.proves(diff=True)


def test_the_request_stays_in_the_stream(host):
    stream = BufferedReader(BytesIO(b"{}\nbundle"))
    assert not report_proven(str(host.state), stream)
    assert stream.read() == b"{}\nbundle"


def test_a_run_that_changes_is_not_a_proof(host):
    host.push()
    assert not host.proves()


def test_what_a_run_has_not_seen_is_not_proven(host, monkeypatch):
    host.push()
    for each in host.managed.iterdir():
        wait_for_stamps(each)

    def changed_in_the_run(*arguments):
        host.file.write_text("later\n")
        return last_run(*arguments)

    last_run = receive_evidence.last_run
    monkeypatch.setattr(receive_evidence, "last_run", changed_in_the_run)
    assert host.push()[-1]["result"] == "ok"
    assert not host.proves()


def test_stamps_that_may_not_show_a_change_prove_nothing(host, monkeypatch):
    monkeypatch.setattr(receive_evidence, "stamp_is_reliable", lambda *_: False)
    host.settle()
    assert not host.proves()


def plain(path, **properties):
    return {
        "resources": [
            {"file": [{path: {"ensure": "present", "content": "x", "mode": "0644", **OWN, **properties}}]}
        ]
    }


UNPROVABLE = {
    "a fact of the host": lambda path: plain(path, content="{{ Facts.host.info.hostname }}"),
    "a fact that the inventory does not give": lambda path: plain(path, content="{{ Facts.fleet.vars.size ?? 1 }}"),
    "a function": lambda path: plain(path, content="{{ Facts.fleet.name + string(now()) }}"),
    "the environment": lambda path: plain(path, content="${ Environ.HOME }"),
    "an owner by name": lambda path: plain(path, owner="daemon"),
    "a validator": lambda path: plain(path, validate="true {path}"),
    "a source outside": lambda path: plain(path, content=None, source="/etc/hostname"),
    "a source above": lambda path: plain(path, content=None, source="../outside"),
    "a condition": lambda path: plain(path, control={"if": "true"}),
    "another kind": lambda path: {"resources": [*plain(path)["resources"], {"exec": [{"true": {}}]}]},
    "data": lambda path: {"data": {"a": 1}, **plain(path)},
    "a setting": lambda path: {"settings": {"fail_fast": True}, **plain(path)},
    "no file": lambda path: plain(f"{path}-missing"),
}  # fmt: skip


def paths_of(directory, manifest):
    bundle = directory / "bundle"
    bundle.mkdir()
    (directory / "outside").touch()
    (bundle / "manifest.yaml").write_text(json.dumps(manifest))
    facts = Facts(FACTS, parse=lambda *_: {}, where=())
    program = load((str(bundle / "manifest.yaml"),), Inputs(facts, os.environ))
    return provable_paths(program, str(bundle), FACTS)


@pytest.mark.parametrize("manifest", UNPROVABLE)
def test_a_manifest_that_may_come_out_otherwise_is_not_provable(tmp_path, manifest):
    managed = tmp_path / "managed"
    managed.write_text("x")
    with pytest.raises((NotProvableError, FileNotFoundError)):
        paths_of(tmp_path, UNPROVABLE[manifest](str(managed)))


def test_a_file_with_two_names_is_not_provable(tmp_path):
    managed = tmp_path / "managed"
    managed.touch()
    (tmp_path / "second").hardlink_to(managed)
    with pytest.raises(NotProvableError):
        paths_of(tmp_path, plain(str(managed)))


def test_facts_of_the_inventory_are_provable(tmp_path):
    managed = tmp_path / "web1"
    managed.touch()
    made = plain(f"{tmp_path}/{{{{ Facts.fleet.name }}}}", content="{{ Facts.fleet.vars.colour }}")
    assert paths_of(tmp_path, made) == [str(managed)]


def test_a_proven_push_imports_no_run(tmp_path):
    site, state, managed = (tmp_path / name for name in ("site", "state", "managed"))
    site.mkdir()
    (site / "manifest.yaml").write_text(json.dumps(plain(str(managed))))
    bundle = pack(str(site), LIMITS, open_input)
    sent = Request(bundle.digest, len(bundle.data), {}).line() + bundle.data
    env = {"REACTOR_STATE_DIR": str(state), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command = [sys.executable, "-P", "-X", "importtime", "-m", "reactor", "receive"]

    def session():
        done = subprocess.run(
            command, input=sent, capture_output=True, env=env, cwd="/", timeout=PATIENCE, check=True
        )
        names = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
        return json.loads(done.stdout.splitlines()[-1])["result"], names

    standby = state / "fleet/standby"
    assert session()[0] == "changed"
    wait_for_stamps(managed)
    wait_until(standby.exists)
    assert session()[0] == "ok"
    standby.unlink()
    result, names = session()
    assert result == "ok"
    assert not names & {
        "trio",
        "pydantic",
        "yaml",
        "click",
        "reactor.engine.engine",
        "reactor.manifest.inputs",
    }
    assert not standby.exists()
