"""Roles in a local directory: parameters, data, outputs, names, errors."""

import os

import pytest

from reactor.engine.events import Converged
from reactor.resource.diagnostic import ManifestError
from reactor.resource.redaction import redacted
from reactor.testing.story import converge_once, running

WEB = """
parameters:
  port: {type: integer, minimum: 1, maximum: 65535}
  name: {type: string, default: "{{ Data.name }}"}
data: {name: nginx}
outputs: {url: "http://localhost:{{ Parameters.port }}/"}
resources:
  - file:
      - "{dir}/{{ Parameters.port }}.conf":
          {ensure: present, content: "{{ Parameters.name }}", {own}, mode: "0644", alias: configuration}
  - exec:
      - reload: {command: /bin/true, refreshonly: true, subscribe: "file#configuration"}
"""
TWO = """
data: {name: of the caller, sites: {a: 80, b: 81}}
resources:
  - role:
      - "site-{{ key }}": {source: roles/web, for_each: "{{ Data.sites }}", parameters: {port: "{{ item }}"}}
"""


def refs(loaded):
    return sorted(loaded.graph.resources)


def test_a_role_has_parameters_and_data_of_its_own_and_its_labels_do_not_clash(tree):
    tree.put(site=TWO, roles__web__manifest=WEB)
    loaded = tree.load(data={"name": "of the command line"})
    files = {ref: each.content for ref, each in loaded.graph.resources.items() if each.kind == "file"}
    assert set(files.values()) == {"nginx"}
    assert [ref for ref in refs(loaded) if not ref.startswith("file#")] == [
        "exec#site-a/reload",
        "exec#site-b/reload",
        "role#site-a",
        "role#site-b",
    ]


def test_by_default_it_is_in_the_directory_roles_and_data_of_the_caller_go_over_its_own(tree):
    tree.put(
        site="resources: [{role: [web: {parameters: {port: 1}, data: {name: apache}}]}]\n",
        roles__web__manifest=WEB,
    )
    assert tree.load().graph.resources[f"file#{tree.place}/1.conf"].content == "apache"


def after(loaded, ref):
    """What goes directly before ``ref``."""
    return {edge.first for edge in loaded.graph.edges if edge.second == ref}


@pytest.mark.parametrize("name", ["web", "a"], ids=["sorted after its names", "sorted before"])
def test_references_lead_into_a_role_and_out_of_it_and_its_own_names_come_first(tree, name):
    tree.put(
        site="resources:\n  - exec:\n      - reload: {command: /bin/true}\n      - outside: {command: /bin/true}\n"
        f"      - after: {{command: /bin/true, require: [exec#{name}/inside, role#{name}]}}\n"
        f"  - role: [{name}: {{source: roles/web}}]\n",
        roles__web__manifest="resources:\n  - exec:\n      - reload: {command: /bin/echo}\n"
        "      - inside: {command: /bin/true, require: exec#reload, after: exec#outside}\n",
    )
    assert after(tree.load(), f"exec#{name}/inside") == {f"exec#{name}/reload", "exec#outside"}
    assert after(tree.load(), "exec#after") == {f"exec#{name}/inside", f"role#{name}"}


def test_a_glob_in_a_role_covers_the_resources_of_the_role(tree):
    tree.put(
        site="resources:\n  - exec: [{a: {command: /bin/true}}]\n  - role: [web: {}]\n",
        roles__web__manifest="resources:\n  - exec:\n      - b: {command: /bin/true}\n      - c: {command: /bin/true}\n"
        "      - all: {command: /bin/true, require: 'exec#*'}\n",
    )
    assert after(tree.load(), "exec#web/all") == {"exec#web/b", "exec#web/c"}


def test_a_role_uses_others_and_their_names_are_below_its_own(tree):
    tree.put(
        site="resources: [{role: [outer: {}]}]\n",
        roles__outer__manifest="resources:\n  - role: [inner: {source: ../inner}]\n"
        "  - exec: [{last: {command: /bin/true, require: exec#inner/go}}, {mine: {command: /bin/true}}]\n",
        roles__inner__manifest="resources: [{exec: [{go: {command: /bin/true, require: exec#mine}}]}]\n",
    )
    loaded = tree.load()
    assert refs(loaded) == [
        "exec#outer/inner/go", "exec#outer/last", "exec#outer/mine", "role#outer", "role#outer/inner",
    ]  # fmt: skip
    assert after(loaded, "exec#outer/last") == {"exec#outer/inner/go"}
    assert after(loaded, "exec#outer/inner/go") == {"exec#outer/mine"}


async def test_others_read_its_outputs_and_its_expressions_read_those_of_its_own_commands(tree):
    tree.put(
        site="resources:\n  - role: [web: {}]\n  - file:\n      - {dir}/url: {ensure: present, {own}, mode: '0644', "
        "content: \"{{ output('role#web').url }}\"}\n",
        roles__web__manifest="outputs: {url: http://localhost/}\nresources:\n"
        "  - exec: [{version: {command: /bin/echo 7}}]\n  - file:\n      - {dir}/version: {ensure: present, {own}, "
        "mode: '0644', content: \"{{ output('exec#version').stdout }}\"}\n",
    )
    await converge_once(graph=tree.load().graph)
    assert (tree.place / "url").read_text() == "http://localhost/"
    assert (tree.place / "version").read_text() == "7"


async def test_an_edit_of_one_file_of_a_role_touches_only_what_it_changes(tree):
    two = WEB.replace(
        "resources:", "resources:\n  - exec: [{idle: {command: /bin/true, unless: /bin/true}}]", 1
    )
    tree.put(site=TWO, roles__web__manifest=two)
    async with running(graph=tree.load().graph) as story:
        await story.converged()
        tree.put(roles__web__manifest=two.replace("name: nginx", "name: apache"))
        graph = tree.load().graph
        before = len(story.all(Converged))  # more than one, where the kernel reported our own writes late
        reloaded = story.engine.reload(graph)
        await story.converged(before + 1)
    assert "apache" in (tree.place / "80.conf").read_text()
    assert sorted(reloaded.changed) == [f"file#{tree.place}/80.conf", f"file#{tree.place}/81.conf"]
    assert reloaded.added == reloaded.gone == ()


FAULTS = [
    ("{}", "R0122", "role#web requires the parameter 'port'"),
    ("{parameters: {port: '80'}}", "R0121", "role#web: parameter port must be an integer, not '80'"),
    ("{parameters: {port: true}}", "R0121", "role#web: parameter port must be an integer, not true"),
    ("{parameters: {port: 0}}", "R0121", "role#web: parameter port must be at least 1, not 0"),
    ("{parameters: {port: 70000}}", "R0121", "role#web: parameter port must be at most 65535, not 70000"),
    ("{parameters: {port: 1, nam: x}}", "R0122", "role#web has no parameter 'nam'"),
    ("{parameters: {port: 1, name: [x]}}", "R0121", "role#web: parameter name must be a string, not a list"),
    ("{parameters: {port: 1, level: high}}", "R0121", "role#web: parameter level must be 'a' or 'b', not 'high'"),
    ("{parameters: {port: 1, path: x}}", "R0121", "role#web: parameter path must match /.*, not 'x'"),
    ("{parameters: {port: 1, tags: [a, 5]}}", "R0121", "role#web: parameter tags[1] must be a string, not 5"),
    ("{parameters: {port: 1, ids: {a: x}}}", "R0121", "role#web: parameter ids.a must be an integer, not 'x'"),
    ("{parameters: {port: 1, share: .nan}}", "R0121", "role#web: parameter share must be a finite number, not nan"),
    ("{parameters: {port: 1, share: -.inf}}", "R0121", "role#web: parameter share must be a finite number, not -inf"),
    ("{parameters: {port: 1, share: x}}", "R0121", "role#web: parameter share must be a number, not 'x'"),
    ("{source: roles/wob}", "R0123", "there is no role in "),
    ("{source: roles/web, revision: main}", "R0112", "only a git repository has a revision"),
    ("{source: 'https://example.org/web.git'}", "R0112", "a git repository needs a revision"),
]  # fmt: skip
MORE = """
  level: {type: string, choices: [a, b], default: a}
  path: {type: string, pattern: "/.*", default: /}
  tags: {type: list, of: string, default: []}
  ids: {type: map, of: integer, default: {}}
  share: {type: number, minimum: 0, default: 0.5}
data:"""


@pytest.mark.parametrize(("properties", "code", "message"), FAULTS)
def test_what_a_caller_does_wrong_is_reported_where_the_caller_wrote_it(tree, properties, code, message):
    tree.put(
        site=f"resources:\n  - role:\n      - web: {properties}\n  - exec: [{{x: {{command: /bin/true, require: 'file#/a'}}}}]\n",
        roles__web__manifest=WEB.replace("\ndata:", MORE, 1),
    )
    [found] = [each for each in tree.problems() if each[0] != "R0202"]
    assert (found[0], found[1]) == (code, 3)
    assert found[3].startswith(message)


@pytest.mark.parametrize(
    ("role", "hint"), [(WEB, "it takes port and name"), ("resources: []\n", "it takes none")]
)
def test_who_gives_an_unknown_parameter_is_told_which_there_are(tree, role, hint):
    tree.put(
        site="resources:\n  - role: [web: {parameters: {port: 1, colour: red}}]\n",
        roles__web__manifest=role,
    )
    with pytest.raises(ManifestError) as caught:
        tree.load()
    assert hint in {each.hint for each in caught.value.diagnostics}


def test_a_pattern_of_a_role_cannot_hold_up_the_load(tree):
    tree.put(
        site="parameters: {name: {type: string, pattern: '(a+)+b', default: '"
        + "a" * 5000
        + "'}}\nresources: []\n"
    )
    [found] = tree.problems()
    assert found[0] == "R0121"


@pytest.mark.parametrize(
    ("declaration", "code", "message"),
    [
        ("{port-1: integer}", "R0120", "'port-1' can't be the name of a parameter"),
        ("{port: int}", "R0110", "type must be"),
        ("{port: {type: integer, default: x}}", "R0121", "the default of port must be an integer, not 'x'"),
        ("{port: {typ: integer}}", "R0106", "the parameter port has no property 'typ'"),
        ("{port: {pattern: '('}}", "R0120", "pattern: invalid regular expression: missing )"),
        ("{port: {choices: [], default: 80}}", "R0111", "choices: it must have at least 1 item"),
        (
            "{port: {type: integer, choices: ['80'], default: 80}}",
            "R0120",
            "each of the choices of port must be an in",
        ),
        (
            "{port: {type: integer, pattern: '8.', default: 80}}",
            "R0120",
            "pattern goes with the type string, and port",
        ),
        (
            "{port: {type: string, minimum: 1, default: a}}",
            "R0120",
            "minimum goes with the type integer or number",
        ),
        ("{port: {type: string, of: string, default: a}}", "R0120", "of goes with the type list or map"),
        (
            "{port: {minimum: 9, maximum: 1, default: 5}}",
            "R0120",
            "no value of port is at least 9 and at most 1",
        ),
        ("{port: integer}", "R0122", "the parameter 'port' has no value"),
        ("{share: {type: number, maximum: .nan}}", "R0109", "maximum must be"),
        ("[port]", "R0120", "parameters must be a map, not a list"),
    ],
)
def test_what_a_role_declares_wrongly_is_reported_in_the_role(tree, declaration, code, message):
    tree.put(site=f"parameters: {declaration}\nresources: []\n")
    [found] = tree.problems()
    assert (found[0], found[1]) == (code, 1)
    assert found[3].startswith(message)


def test_an_error_within_a_role_says_which_role_and_which_iteration(tree, reactor):
    tree.put(
        site=TWO,
        roles__web__manifest=WEB.replace("/bin/true", "/bin/true\n          timeout: x").replace(
            "{command: /bin/true\n          timeout: x, ", "{timeout: soon, command: /bin/true, "
        ),
    )
    done = reactor("validate", tree.site)
    assert "roles/web/manifest.yaml" in done.err
    assert done.err.count("error[") == 1
    assert "note: in role#site-a" in done.err
    assert "note: in the iteration with the key 'a'" in done.err


def test_a_role_that_uses_itself_is_an_error(tree):
    tree.put(
        site="resources: [{role: [web: {}]}]\n",
        roles__web__manifest="resources: [{role: [web: {source: .}]}]\n",
    )
    [found] = tree.problems()
    assert found[0] == "R0114"
    assert "applies itself" in found[3]


def test_two_roles_that_manage_one_file_differently_are_an_error(tree):
    tree.put(
        site="resources: [{role: [{a: {source: web}}, {b: {source: web}}]}]\n",
        web__manifest="resources: [{file: [/srv/x: {ensure: present, content: x, {own}, mode: '0644'}]}]\n",
    )
    assert [found[0] for found in tree.problems()] == ["R0201"]


def test_a_secret_parameter_is_masked_and_so_is_a_secret_of_the_caller(tree):
    tree.put(
        site="data:\n  # @secret\n  key: hunter2hunter2\nresources:\n"
        '  - role: [web: {parameters: {word: swordfish, key: "{{ Data.key }}"}}]\n',
        roles__web__manifest="parameters: {word: {type: string, secret: true}, key: string}\n"
        'resources: [{file: [/srv/x: {ensure: present, content: "{{ Parameters.word }} {{ Parameters.key }}", {own}, mode: "0600"}]}]\n',
    )
    resource = tree.load().graph.resources["file#/srv/x"]
    assert "content" in resource.secrets
    assert redacted("swordfish hunter2hunter2") == "[secret] [secret]"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of other users")
def test_a_role_that_another_user_can_change_is_refused(tree):
    tree.put(site="resources: [{role: [web: {}]}]\n", roles__web__manifest="resources: []\n")
    os.chown(tree.place / "roles/web/manifest.yaml", 12345, 12345)
    from reactor import ManifestError  # noqa: PLC0415

    with pytest.raises(ManifestError) as caught:
        tree.load()
    assert caught.value.code == "R0401"
    assert "belongs to 12345" in caught.value.diagnostics[0].message


def test_fifty_roles_in_a_loop(tree):
    tree.put(
        site="data: {n: {" + ", ".join(f"s{i}: {8000 + i}" for i in range(50)) + "}}\n"
        'resources: [{role: [{"{{ key }}": {source: roles/web, for_each: "{{ Data.n }}", parameters: {port: "{{ item }}"}}}]}]\n',
        roles__web__manifest=WEB,
    )
    assert len(tree.load().graph.resources) == 150


def test_a_glob_may_match_nothing_where_a_loop_makes_no_role(tree):
    tree.put(
        site="data: {sites: {}}\nresources:\n"
        '  - role: [{"{{ key }}": {source: roles/web, for_each: "{{ Data.sites }}"}}]\n'
        "  - exec: [{x: {command: /bin/true, require: ['file#/etc/nginx/*', 'role#*']}}]\n"
    )
    assert refs(tree.load()) == ["exec#x"]
