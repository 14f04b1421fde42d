"""Secrets that a manifest passes on to another one, while they are not known."""

import os

import pytest

from reactor.engine.events import Result
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.redaction import MASK
from reactor.secrets.reader import RunSecrets
from reactor.testing.story import converge_once

OWN = f'owner: "{os.getuid()}", group: "{os.getgid()}"'
FILES = f'defaults: {{file: {{ensure: present, {OWN}, mode: "0600"}}}}\nresources:\n  - file:\n'
ROLE = (
    "parameters: {port: integer, db: map, token: {type: string, secret: true, pattern: '[a-z]+'}}\n" + FILES
)


@pytest.fixture
def site(tmp_path):
    """Writes a manifest that passes on a secret, which the file ``key`` holds; returns its graph."""

    def made(entry, reader=None, **others):
        for name, text in others.items():
            path = tmp_path / name.replace("__", "/").replace("_yaml", ".yaml").replace("_j2", ".j2")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("DIR", str(tmp_path)))
        source = f"secrets: {{db: {{command: [cat, {tmp_path}/key]}}}}\nresources:\n  - {entry}\n"
        (tmp_path / "site.yaml").write_text(source)
        return load(str(tmp_path / "site.yaml"), Inputs(secret_reader=reader)).graph

    return made


ASKING = (
    "role: [app: {source: app, parameters: "
    '{port: 80, db: {user: ada, password: "{{ Secrets.db }}"}, token: "{{ Secrets.db }}"}}]'
)


def test_a_role_with_a_secret_parameter_can_be_validated(site):
    graph = site(
        ASKING,
        app__manifest_yaml=ROLE
        + '      - "DIR/{{ Parameters.db.user }}": {content: "{{ Parameters.token }}"}\n',
    )
    assert {ref.rpartition("/")[2] for ref in graph.resources} == {"role#app", "ada"}


async def test_only_what_reads_an_unknown_parameter_waits_for_it(site, tmp_path):
    graph = site(
        ASKING,
        RunSecrets(),
        app__manifest_yaml=ROLE
        + '      - DIR/port: {content: "{{ Parameters.port }} {{ Parameters.db.user }}"}\n'
        '      - DIR/token: {content: "{{ Parameters.token }}"}\n'
        "      - DIR/password: {content: \"{{ Parameters.db.password ?? 'none' }}\"}\n"
        '      - DIR/all: {content: "{{ toJSON(Parameters) }}"}\n'
        "      - DIR/rendered: {template: app.j2}\n",
        app__app_j2="{{ Parameters.db.password | default('none') }}",
    )
    ended, story = await converge_once(graph=graph)
    assert (tmp_path / "port").read_text() == "80 ada"
    for name in ("token", "password", "all", "rendered"):
        assert not (tmp_path / name).exists()
        assert story.checks(f"file#{tmp_path}/{name}")[0].error.startswith("waits for the secret db: ")
    assert ended.counts[Result.FAILED] == 5, "and the role"


async def test_data_with_an_unknown_secret_are_still_those_of_the_child(site, tmp_path):
    entry = 'apply: [child.yaml: {data: {port: 90, password: "{{ Secrets.db }}"}}]\ndata: {password: of the parent}'
    child = (
        "data:\n  port: 80\n  # @validate isInt(value)\n  password: 1\n"
        + FILES
        + '      - DIR/port: {content: "{{ Data.port }}"}\n'
        '      - DIR/password: {content: "{{ Data.password }}"}\n'
    )
    await converge_once(graph=site(entry, RunSecrets(), child_yaml=child))
    assert (tmp_path / "port").read_text() == "90"
    assert not (tmp_path / "password").exists()


async def test_a_role_all_of_whose_parameters_are_unknown_fails_alone(site, tmp_path):
    entry = 'role: [app: {source: app, parameters: "{{ Secrets.db }}"}]\n  - file: [DIR/other: {}]\n'
    entry = entry.replace("DIR", str(tmp_path)).replace("{}", f"{{ensure: directory, {OWN}, mode: '0755'}}")
    graph = site(entry, RunSecrets(), app__manifest_yaml=ROLE + '      - DIR/a: {content: ""}\n')
    _, story = await converge_once(graph=graph)
    assert story.checks("role#app")[0].error.startswith("waits for the secret db: ")
    assert (tmp_path / "other").is_dir()
    assert not (tmp_path / "a").exists()


async def test_a_known_secret_is_passed_on_and_masked(site, tmp_path):
    (tmp_path / "key").write_text("hunter")
    (tmp_path / "key").chmod(0o600)
    body = ROLE + '      - DIR/token: {content: "{{ Parameters.token }} {{ Parameters.db.password }}"}\n'
    graph = site(ASKING, RunSecrets(), app__manifest_yaml=body)
    await converge_once(graph=graph)
    assert (tmp_path / "token").read_text() == "hunter hunter"
    assert "content" in graph.resources[f"file#{tmp_path}/token"].secrets


def test_a_one_shot_run_does_not_say_that_it_will_ask_for_a_secret_again(site, reactor, tmp_path):
    (tmp_path / "key").write_text("hunter")
    site(f'file: [{tmp_path}/a: {{ensure: present, content: "{{{{ Secrets.db }}}}", {OWN}, mode: "0600"}}]')
    ran = reactor("run", "--converge-once", "--state-dir", tmp_path / "state", tmp_path / "site.yaml")
    assert (tmp_path / "a").read_text() == "hunter"
    assert "secret" not in ran.out + ran.err


def test_what_is_rendered_shows_an_unknown_secret_masked(site, reactor, tmp_path):
    body = ROLE + '      - DIR/token: {content: "{{ Parameters.token }} {{ Parameters.db.password }}"}\n'
    site(ASKING, app__manifest_yaml=body)
    shown = reactor("render", "--children", str(tmp_path / "site.yaml")).out
    assert f'"password": "{MASK}"' in shown
    assert f'"token": "{MASK}"' in shown
