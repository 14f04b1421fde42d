"""`kvGet` and `registrations` in manifests: read from a real server, kept in the state directory, and followed."""

import io
import json
import os
import signal
import stat
import tempfile
import textwrap

import pytest
from nats_servers import NatsServer
from nats_site import Site, on
from ports import free_port
from processes_of_cli import finish, wait_until

from reactor.fleet.bundle.pack import pack
from reactor.fleet.push.request import Request
from reactor.fleet.registry.entry import Entry
from reactor.fleet.registry.stream import make_stream, publish, remove

OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
WEB = [Entry("prod", "web", "http", f"192.0.2.{number}", 80, 10, {"zone": "a"}) for number in (1, 2)]
FILE_SD = [
    {
        "labels": {"cluster": "prod", "protocol": "prometheus", "service": "node"},
        "targets": ["192.0.2.9:9100"],
    }
]
LISTS = {
    "expr": "${ registrations('prod', 'http', 'web', '*') | map(#.Address + ':' + string(#.Port)) | join(' ') }",
    "go": '{{ range $e := registrations "prod" "http" "web" "*" }}{{ $e.Address }}:{{ $e.Port }} {{ end }}',
    "jet": '[[ range _, e := registrations("prod", "http", "web", "*") ]][[ e.Address ]]:[[ e.Port ]] [[ end ]]',
}
TARGETS = {
    "expr": "${ registrations('prod', 'prometheus', '*', '*').PrometheusFileSD() }",
    "go": '{{ (registrations "prod" "prometheus" "*" "*").PrometheusFileSD }}',
    "jet": '[[ registrations("prod", "prometheus", "*", "*").PrometheusFileSD() ]]',
}


@pytest.fixture(scope="module")
def registry(server):
    """The stream of registrations, with two web servers and one exporter."""

    async def fill(js):
        await make_stream(js, max_age=3600)
        for entry in (*WEB, Entry("prod", "node", "prometheus", "192.0.2.9", 9100, 1)):
            await publish(js, entry)

    on(server, fill)


def forms(body):
    return {
        "native": "resources:\n" + textwrap.indent(body, "  "),
        "ccm": "ccm:\n  resources:\n" + textwrap.indent(body, "    "),
    }


def file(root, content, name="out"):
    return f"- file:\n    - {root}/{name}: {{{OWN}, content: {json.dumps(content)}}}\n"


def run(reactor, site, text, *options):
    path = site.root / "m.yaml"
    path.write_text(text)
    return reactor("run", "--converge-once", *options, path)


@pytest.mark.parametrize("form", ["native", "ccm"])
def test_a_key_is_a_value(site, form, reactor):
    site.put("hello\n")
    text = forms(file(site.root, f"${{ kvGet('{site.bucket}', 'site.web') }}"))[form]
    done = run(reactor, site, text)
    assert (done.code, site.out) == (0, "hello\n"), done.err


@pytest.mark.parametrize("engine", LISTS)
@pytest.mark.parametrize("form", ["native", "ccm"])
def test_registrations_are_a_list_in_each_language(site, registry, engine, form, reactor):
    assert written(site, reactor, form, engine, LISTS[engine]).strip() == "192.0.2.1:80 192.0.2.2:80"


@pytest.mark.parametrize("engine", TARGETS)
def test_registrations_are_targets_of_prometheus_in_each_language(site, registry, engine, reactor):
    assert json.loads(written(site, reactor, "ccm", engine, TARGETS[engine])) == FILE_SD


def written(site, reactor, form, engine, template):
    """What a file has after a run, from a template in one language."""
    if engine == "expr":
        body = file(site.root, template)
    elif engine == "jet":
        (site.root / "x.jet").write_text(template)
        body = file(site.root, "${ jet('x.jet') }")
    else:
        folder = site.root / "tree"
        folder.mkdir()
        (folder / "out").write_text(template)
        body = f"- scaffold:\n    - {site.root}/made: {{ensure: present, source: {folder}, engine: go}}\n"
    done = run(reactor, site, forms(body)[form])
    assert done.code == 0, done.err
    return site.out if engine != "go" else (site.root / "made/out").read_text()


def mirrors(site):
    return sorted((site.root / "state/network").iterdir())


def two_files(site, first, second):
    path = site.root / "m.yaml"
    path.write_text(
        "resources:\n" + textwrap.indent(file(site.root, first) + file(site.root, second, "other"), "  ")
    )
    return path


def key(site, name="site.web"):
    return f"${{ kvGet('{site.bucket}', '{name}') }}"


def change_of(run, name):
    """The next change, which must be of this file; and no other file was checked before.

    But a run hears what it wrote itself, at times after it has converged: then it checks that file once more.
    """

    def is_changed(event):
        if event["ref"].endswith(f"/{name}"):
            return event["result"] == "changed"
        assert (event["result"], event["ref"] in run.echoes) == ("ok", False), event
        run.echoes.add(event["ref"])
        return False

    return run.heard("checked", is_changed)


def test_a_new_value_is_drift_of_exactly_the_resources_that_read_it(site, converger):
    site.put("one")
    site.put("still", "site.other")
    run = converger(two_files(site, key(site), key(site, "site.other")))
    site.put("two")
    assert change_of(run, "out")["causes"] == ["drift"]
    assert site.out == "two"
    site.put("three")
    assert change_of(run, "out")["causes"] == ["drift"]
    assert (site.out, (site.root / "other").read_text()) == ("three", "still")
    assert [stat.S_IMODE(each.stat().st_mode) for each in mirrors(site)] == [0o600, 0o600]
    run.process.send_signal(signal.SIGTERM)
    assert finish(run.process).code == 0


def test_a_new_registration_is_drift_and_so_is_its_end(site, registry, converger):
    path = two_files(site, LISTS["expr"].replace("'prod'", "'test'"), "still")
    run = converger(path)
    assert site.out == ""
    entry = Entry("test", "web", "http", "192.0.2.7", 443, 1)
    on(site.server, lambda js: publish(js, entry))
    change_of(run, "out")
    assert site.out == "192.0.2.7:443"
    on(site.server, lambda js: remove(js, entry))
    change_of(run, "out")
    assert site.out == ""


def test_a_deleted_key_leaves_the_last_value_in_force_and_says_so(site, converger):
    site.put("one")
    run = converger(two_files(site, key(site), "still"))
    site.delete()
    run.warned(f"there is no key site.web in the key-value bucket {site.bucket}; the last value is used, of ")
    (site.root / "out").write_text("drift")
    change_of(run, "out")
    assert site.out == "one"
    site.put("two")
    change_of(run, "out")
    assert site.out == "two"


@pytest.fixture
def away(site, tmp_path):
    """A server of its own, which is not running, in the context of the site."""
    with NatsServer(tmp_path / "own") as server:
        other = Site.__new__(Site)
        vars(other).update(vars(site), server=server)
        on(server, other._make)
        other.connect_to(server.url)
        server.kill()
        yield other


def test_what_was_never_read_blocks_its_resource_and_no_other(away, converger):
    """It goes on by itself when the network is there."""
    run = converger(two_files(away, key(away), "still"), until="blocked")
    event = run.last
    name = f"network: kv://{away.bucket}/site.web"
    assert event["culprits"] == [name]
    assert "can't reach the NATS server" in event["detail"]
    wait_until((away.root / "other").exists)
    assert (away.root / "other").read_text() == "still"
    assert not (away.root / "out").exists()
    away.server.start()
    away.put("here")
    run.heard("unblocked")
    run.heard("converged")
    assert away.out == "here"


def child_of(away, more=""):
    """A manifest that applies one with `two_files`."""
    child = two_files(away, key(away), "still").rename(away.root / "child.yaml")
    child.write_text(child.read_text() + more)
    parent = away.root / "parent.yaml"
    parent.write_text(f"resources:\n  - apply: [{child}: {{}}]\n")
    return parent


def test_an_applied_manifest_waits_with_what_waits_in_it(away, converger):
    run = converger(child_of(away), until="blocked")
    waits = [f"network: kv://{away.bucket}/site.web"]
    assert run.last["culprits"] == waits
    applied = run.heard("blocked", lambda event: event["ref"].startswith("apply#"))
    assert applied["culprits"] == waits
    away.server.start()
    away.put("here")
    run.heard("converged")
    assert away.out == "here"


def test_an_applied_manifest_fails_if_something_in_it_fails_beside_what_waits(away, reactor):
    parent = child_of(away, "  - exec: [/bin/false: {}]\n")
    done = reactor("run", "--converge-once", "--state-dir", away.root / "state", parent)
    assert done.code == 1
    assert f"blocked  by network: kv://{away.bucket}/site.web" in done.out
    assert "child manifest had 2 failed resources" in done.out + done.err


def test_a_single_run_without_the_network_applies_the_others_and_fails(away, reactor):
    path = two_files(away, key(away), "still")
    done = reactor("run", "--converge-once", "--state-dir", away.root / "state", path)
    assert done.code == 1
    assert f"blocked  by network: kv://{away.bucket}/site.web" in done.out
    assert "watcher" not in done.out
    assert (away.root / "other").read_text() == "still"
    assert not (away.root / "out").exists()
    why = reactor("why", "--state-dir", away.root / "state", f"file#{away.root}/out")
    assert f"waits for network: kv://{away.bucket}/site.web: can't reach the NATS server" in why.out


def test_the_last_value_holds_while_the_network_is_away(away, reactor):
    away.server.start()
    away.put("kept")
    path = two_files(away, key(away), "still")
    state = ("--state-dir", away.root / "state")
    assert reactor("run", "--converge-once", *state, path).code == 0
    away.server.kill()
    (away.root / "out").unlink()
    done = reactor("run", "--converge-once", *state, path)
    assert (done.code, away.out) == (0, "kept")
    assert f"kv://{away.bucket}/site.web: can't reach the NATS server" in done.err
    assert "the last value is used, of 20" in done.err


def test_a_server_that_goes_away_is_named_and_its_values_hold(away, converger, reactor):
    away.server.start()
    away.put("one")
    run = converger(two_files(away, key(away), "still"))
    away.server.kill()
    event = run.heard(
        "watcherchanged", lambda event: event["watcher"] == "network" and event["state"] == "down"
    )
    assert "the NATS server" in event["reason"]
    words = ("why", "--state-dir", away.root / "state", f"file#{away.root}/out")
    wait_until(lambda: f"kv://{away.bucket}/site.web: " in reactor(*words).out)
    assert "the last value is used, of 20" in reactor(*words).out
    (away.root / "out").write_text("drift")
    change_of(run, "out")
    assert away.out == "one"
    away.server.start()
    run.heard("watcherchanged", lambda event: event["watcher"] == "network" and event["state"] == "armed")
    wait_until(lambda: "the last value" not in reactor(*words).out)
    away.put("two")
    run.heard("checked", lambda event: event["result"] == "changed")
    assert away.out == "two"


def test_a_missing_key_is_an_error_with_its_place_and_nothing_is_changed(site, reactor):
    path = two_files(site, key(site, "none"), "still")
    done = reactor("run", "--converge-once", path)
    assert done.code == 2
    assert "m.yaml:3:" in done.err
    assert f"there is no key none in the key-value bucket {site.bucket}" in done.err
    assert not (site.root / "other").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"caf\xe9", "is not UTF-8 text"), (b"x" * 11, "has 11 bytes, and at most 10 are read")],
)
def test_a_value_is_read_whole_or_not_at_all(site, reactor, data, said, monkeypatch):
    monkeypatch.setattr("reactor.fleet.sources.values._LARGEST", 10)
    on(site.server, lambda js: js.key_value(site.bucket).put("site.web", data))
    done = reactor("run", "--converge-once", two_files(site, key(site), "still"))
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (site.root / "out").exists()


def test_a_damaged_value_leaves_the_last_one_in_force_and_says_so(site, converger):
    site.put("one")
    run = converger(two_files(site, key(site), "still"))
    on(site.server, lambda js: js.key_value(site.bucket).put("site.web", b"caf\xe9"))
    run.warned(f"the value of site.web in the key-value bucket {site.bucket} is not UTF-8 text; the last")
    assert site.out == "one"


def test_a_bucket_that_is_missing_is_an_error(site, reactor):
    done = reactor("run", "--converge-once", two_files(site, "${ kvGet('none', 'k') }", "still"))
    assert done.code == 2
    assert f"there is no key-value bucket none at the NATS server {site.server.url}" in done.err


def test_without_a_context_it_is_an_error(site, reactor):
    (site.root / "config/nats/context/CCM.json").unlink()
    done = reactor("run", "--converge-once", two_files(site, key(site), "still"))
    assert done.code == 2
    assert "there is no NATS context CCM" in done.err
    assert not (site.root / "other").exists()


def test_a_pushed_bundle_reads_values_and_waits_for_what_was_never_read(site, reactor, monkeypatch):
    def receive():
        bundle = pack(str(site.root / "bundle"))
        facts = {"fleet": {"name": "web1", "groups": [], "vars": {}}}
        with tempfile.TemporaryFile() as stream:
            stream.write(Request(bundle.digest, len(bundle.data), facts).line() + bundle.data)
            stream.seek(0)
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
            done = reactor("receive", "--state-dir", site.root / "state")
        return done.records[-1]

    (site.root / "bundle").mkdir()
    site.written(f'${{ kvGet("{site.bucket}", "k") }}').rename(site.root / "bundle/manifest.yaml")
    missing = receive()
    assert missing["result"] == "rejected"
    assert "k" in missing["error"]
    site.put("from the network", key="k")
    assert receive()["result"] == "changed"
    assert site.out == "from the network"
    site.connect_to(f"nats://127.0.0.1:{free_port()}")
    assert receive()["result"] == "ok", "the last value holds"
    (site.root / "state").rename(site.root / "elsewhere")
    assert receive()["result"] == "failed", "its resource waits for the network"
