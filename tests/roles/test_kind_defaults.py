"""``defaults`` of a kind, for a whole manifest and what it applies."""

import json

import jsonschema
import pytest

from reactor.manifest.schema import json_schema

DEFAULTS = 'defaults: {file: {owner: root, group: root, mode: "0644"}, exec: {timeout: 1m}}\n'


def modes(loaded):
    return {ref: each.mode for ref, each in loaded.graph.resources.items() if each.kind == "file"}


def test_the_resource_goes_before_its_list_and_the_list_before_the_manifest_and_that_before_the_one_above(
    tree,
):
    tree.put(
        site=DEFAULTS
        + "resources:\n  - file: {name: /srv/a, ensure: present, content: x}\n  - apply: [child.yaml: {}]\n"
        '  - file:\n      - defaults: {mode: "0600"}\n      - /srv/b: {ensure: present, content: x}\n'
        '      - /srv/c: {ensure: present, content: x, mode: "0400"}\n',
        child="defaults: {file: {mode: '0755'}}\nresources: [{file: [/srv/d: {ensure: present, content: x}]}]\n",
    )
    loaded = tree.load()
    assert modes(loaded) == {
        "file#/srv/a": "0644",
        "file#/srv/b": "0600",
        "file#/srv/c": "0400",
        "file#/srv/d": "0755",
    }
    assert loaded.graph.resources["file#/srv/d"].owner == "root"


def test_they_do_not_reach_a_role_nor_the_next_manifest_nor_the_form_of_ccm(tree):
    tree.put(
        site=DEFAULTS
        + "resources: [{role: [web: {}]}, {apply: [ccm.yaml: {}, child.yaml: {}]}, {exec: [/bin/true: {}]}]\n",
        roles__web__manifest="resources: [{exec: [/bin/echo 1: {}]}]\n",
        ccm="ccm: {resources: [{exec: [/bin/echo 2: {}]}]}\n",
        child="defaults: {exec: {timeout: 2m}}\nresources: [{exec: [/bin/echo 3: {}]}]\n",
    )
    found = {ref: each.timeout for ref, each in tree.load().graph.resources.items() if each.kind == "exec"}
    assert found == {
        "exec#/bin/true": 60.0,
        "exec#/bin/echo 1": None,
        "exec#/bin/echo 2": None,
        "exec#/bin/echo 3": 120.0,
    }


def test_their_expressions_see_the_data_of_the_manifest_that_declares_them(tree):
    tree.put(
        site='data: {wait: 30s}\ndefaults: {exec: {timeout: "{{ Data.wait }}"}}\nresources: [{apply: [child.yaml: {data: {wait: 1h}}]}]\n',
        child="resources: [{exec: [/bin/true: {}]}]\n",
    )
    assert tree.load().graph.resources["exec#/bin/true"].timeout == 30.0


def test_every_invalid_one_is_reported_once_at_its_place_and_no_resource_gets_it(tree):
    tree.put(
        site="defaults:\n  file: {ownr: root, mode: [x], name: /a}\n  fil: {}\n  exec: 5\n  user:\n"
        "    uid: much\nresources:\n  - user: [{ada: {}}, {bob: {}}]\n"
    )
    assert tree.problems() == [
        ("R0106", 2, 10, "defaults of file has no property 'ownr'"),
        ("R0109", 2, 28, "mode must be a string, not a list"),
        ("R0105", 2, 33, "defaults can't give name: it differs"),
        ("R0107", 3, 3, "unknown kind 'fil'"),
        ("R0109", 4, 9, "defaults of exec must be a map of properties, not 5"),
        ("R0109", 6, 10, "uid must be an integer, not 'much'"),
    ]


@pytest.mark.parametrize(
    ("defaults", "problem"),
    [
        ("group", ("R0109", 1, 18, "defaults of file must be a map of properties, not 'group'")),
        ("{group: [x]}", ("R0109", 1, 26, "group must be a string, not a list")),
    ],
)
def test_a_resource_does_not_lack_what_an_invalid_default_may_give_it(tree, defaults, problem):
    tree.put(
        site=f"defaults: {{file: {defaults}}}\nresources:\n  - file:\n"
        "    - /srv/a: {ensure: present, content: x, owner: root, mode: '0644'}\n"
        "    - /srv/b: {ensure: present, content: x, owner: root, mode: '0644', force: much}\n"
    )
    own = ("R0109", 5, 79, "force must be true or false, not 'much'")
    assert tree.problems() == [problem, own]


def test_a_manifest_is_read_though_the_defaults_of_what_applies_it_are_invalid(tree):
    tree.put(
        site="defaults: {apply: 7}\nresources: [{apply: [child.yaml: {}]}]\n",
        child="resources: [{exec: [/bin/true: {tmeout: 3}]}]\n",
    )
    assert [each[0] for each in tree.problems()] == ["R0106", "R0109"]


def test_defaults_that_are_no_map_are_one_error_and_no_resource_lacks_what_they_may_give_it(tree):
    tree.put(
        site="defaults: [file]\nresources: [{file: [/srv/a: {content: x}]}, {apply: [child.yaml: {}]}]\n",
        child="resources: [{file: [/srv/b: {content: x}]}]\n",
    )
    assert tree.problems() == [("R0109", 1, 11, "defaults must be a map, not a list")]


def test_what_only_goes_wrong_together_is_reported_at_the_default(tree):
    tree.put(
        site="defaults: {file: {owner: root, group: root, mode: '0644', source: /etc/motd}}\nresources:\n"
        "  - file: [/srv/a: {ensure: present, content: x}]\n"
    )
    assert [problem[:3] for problem in tree.problems()] == [("R0112", 1, 67)]


def test_they_are_in_the_schema():
    schema = jsonschema.Draft202012Validator(json_schema())
    good = {"defaults": {"file": {"mode": "0644"}, "exec": None}, "resources": []}
    schema.validate(good)
    for bad in ({"file": {"mod": 1}}, {"fil": {}}, {"file": {"name": "/a"}}):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate({**good, "defaults": bad})


def test_render_shows_them_in_each_resource(reactor, tree):
    tree.put(site=DEFAULTS + "resources: [{exec: [/bin/true: {}]}]\n")
    done = reactor("render", "--format", "json", tree.site)
    assert json.loads(done.out)["resources"] == [{"exec": {"name": "/bin/true", "timeout": "1m"}}]
