"""`kvGet` and `registrations` in manifests: read from a real server, kept in the state directory, and followed."""

import json
import os
import signal
import stat
import textwrap

import pytest
import trio
from nats_servers import NatsServer
from processes_of_cli import environment, finish, spawned
from test_sources import Site, on

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


@pytest.fixture
def site(server, tmp_path, monkeypatch, request):
    made = Site(server, tmp_path, "".join(filter(str.isalnum, request.node.name)))
    monkeypatch.setenv("XDG_CONFIG_HOME", made.variables["XDG_CONFIG_HOME"])
    return made


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
