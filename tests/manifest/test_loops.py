"""``for_each``: one declaration, several resources."""

import jsonschema
import pytest
from small_kinds import KINDS

from reactor.engine.events import Checked
from reactor.graph.build import build
from reactor.manifest import read_manifests
from reactor.manifest.inputs import Inputs
from reactor.manifest.schema import json_schema
from reactor.resource.redaction import redacted
from reactor.testing.story import running

USERS = "data: {users: {alice: {size: 1, tags: [a, b]}, bob: {size: 2, tags: []}}}\n"


def resources(reading):
    assert reading.diagnostics == []
    return {each.ref: each for each in reading.manifest.resources}


def test_a_map_gives_each_resource_its_value_and_its_key(read):
    found = resources(
        read(
            USERS
            + 'resources: [{page: [{"/{{ key }}": {for_each: "{{ Data.users }}", ensure: present, '
            + 'size: "{{ item.size }}"}}]}]\n'
        )
    )
    assert {ref: page.size for ref, page in found.items()} == {"page#/alice": 1, "page#/bob": 2}


def test_a_list_gives_each_resource_its_element_and_its_index_and_a_literal_needs_no_data(read):
    found = resources(
        read(
            'resources: [{page: [{"/{{ item }}": {for_each: [x, "y{{ 1 + 1 }}"], ensure: present, '
            'content: "{{ key }}"}}]}]\n'
        )
    )
    assert {ref: page.content for ref, page in found.items()} == {"page#/x": "0", "page#/y2": "1"}


def test_subitems_loop_within_each_element(read):
    found = resources(
        read(
            USERS
            + 'resources: [{job: [{"{{ key }}-{{ subkey }}": {for_each: "{{ Data.users }}", '
            + 'subitems: "{{ item.tags }}", command: "{{ subitem }} {{ item.size }}"}}]}]\n'
        )
    )
    assert {ref: job.command for ref, job in found.items()} == {"job#alice-0": "a 1", "job#alice-1": "b 1"}


def test_defaults_of_the_list_can_use_the_element_and_others_in_the_list_do_not_see_them(read):
    found = resources(
        read(
            "resources:\n  - page:\n      - defaults: {ensure: present, content: all}\n"
            '      - "/{{ item }}": {for_each: [a]}\n      - /b: {}\n'
            '  - page:\n      - defaults: {ensure: present, content: "{{ item }}"}\n'
            '      - "/{{ item }}": {for_each: [c]}\n'
        )
    )
    assert {ref: page.content for ref, page in found.items()} == {
        "page#/a": "all",
        "page#/b": "all",
        "page#/c": "c",
    }


def test_the_map_form_of_an_entry_loops_too(read):
    found = resources(read('resources: [{job: {name: "j{{ item }}", for_each: [1, 2]}}]\n'))
    assert [*found] == ["job#j1", "job#j2"]


def test_an_error_names_the_first_iteration_that_has_it_once(read):
    reading = read(
        "resources:\n  - page:\n"
        '      - "/{{ item.name }}": {for_each: [{name: a, s: 1}, {name: b, s: x}, {name: c, s: y}], '
        'ensure: present, size: "{{ item.s }}", kolor: 1}\n'
    )
    assert reading.messages == [
        "size must be an integer, not 'x'",
        "size must be an integer, not 'y'",
        "page has no property 'kolor'",
    ]
    assert [each.notes[0][0] for each in reading.diagnostics] == [
        "in the iteration with the key 1",
        "in the iteration with the key 2",
        "in the iteration with the key 0",
    ]


def test_a_name_that_does_not_differ_is_declared_twice(read):
    reading = read("resources: [{job: [{same: {for_each: [1, 2]}}]}]\n")
    assert reading.messages == ["job#same is declared twice"]
    assert "{{ item }}" in reading.diagnostics[0].hint


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("for_each: users", "for_each must be a list or a map, not 'users'"),
        ("for_each: ", "for_each must be a list or a map, not nothing"),
        ("for_each: [1], subitems: 3", "subitems must be a list or a map, not 3"),
        ('for_each: "{{ Data.x }}"', "Data has no key 'x'"),
    ],
)
def test_what_can_not_be_looped_over_is_an_error_and_no_other(read, loop, message):
    reading = read(f"resources: [{{job: [{{a: {{{loop}}}}}, {{b: {{require: 'job#a'}}}}]}}]\n")
    assert [each.removesuffix(" in line 1") for each in reading.messages] == [message]


def test_outside_of_a_loop_its_names_are_unknown(read):
    reading = read('resources: [{job: [{a: {command: "{{ item }}"}}, {b: {subitems: [1]}}]}]\n')
    assert reading.messages == ["unknown name item", "job has no property 'subitems'"]


@pytest.mark.parametrize("name", ["value", "each", "index"])
def test_the_name_of_an_element_in_other_programs_leads_to_ours(read, name):
    reading = read(
        f'resources: [{{job: [{{"a{{{{ item }}}}": {{for_each: [1], command: "{{{{ {name} }}}}"}}}}]}}]\n'
    )
    assert [each.hint for each in reading.diagnostics] == [
        "the element of the loop is item, and its key or index is key"
    ]


def test_the_parts_of_an_element_in_ansible_lead_to_ours(read):
    loop = 'for_each: {a: {n: 1}}, command: "{{ item.key }} {{ item.value }}"'
    reading = read(f'resources: [{{job: [{{"a{{{{ key }}}}": {{{loop}}}}}]}}]\n')
    hint = "in a loop over a map, key is the key and item the value itself: {{ key }}, {{ item }}"
    assert [each.hint for each in reading.diagnostics] == [hint, hint]


def test_the_ccm_form_has_no_loops(read):
    reading = read("ccm: {resources: [{job: [{a: {for_each: [1]}}]}]}\n")
    assert reading.messages == ["job has no property 'for_each'"]


def test_secrets_of_an_element_stay_secret(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(
        "data: {users: {alice: {size: 1, word: hunter22}}}\n"
        'resources: [{page: [{"/{{ key }}": {for_each: "{{ Data.users }}", ensure: present, '
        'content: "w={{ item.word }}", size: "{{ item.size }}"}}]}]\n'
    )
    secret = frozenset({("users", "alice", "word")})
    manifest, problems = read_manifests(
        [str(path)], KINDS, Inputs(data={"users": {"alice": {"word": "hunter23"}}}, secrets=secret)
    )
    assert problems == []
    [page] = manifest.resources
    assert page.content == "w=hunter23"
    assert page.secrets == {"content"}
    assert redacted("it is hunter23 here") != "it is hunter23 here"


@pytest.mark.parametrize(
    "loop", ['"{{ values(Data.users) }}"', '"{{ Data.listed }}"', "[a, '{{ Data.users.alice.word }}']"]
)
def test_a_name_from_a_loop_over_what_is_secret_as_a_whole_is_an_error(tmp_path, loop):
    path = tmp_path / "site.yaml"
    path.write_text(f'resources: [{{job: [{{"j{{{{ item }}}}": {{for_each: {loop}}}}}]}}]\n')
    data = {"users": {"alice": {"word": "hunter24"}}, "listed": [{"word": "hunter25"}]}
    secrets = frozenset({("users", "alice", "word"), ("listed",)})
    _, problems = read_manifests([str(path)], KINDS, Inputs(data=data, secrets=secrets))
    assert {each.code for each in problems} == {"R0402"}
    assert "hunter" not in str(problems)


def test_the_schema_knows_loops():
    page = {"for_each": ["a"], "ensure": "present"}
    manifest = {"resources": [{"page": [{"/{{ item }}": page}]}]}
    jsonschema.validate(manifest, json_schema(KINDS))
    page["for_each"] = 5
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(manifest, json_schema(KINDS))


async def test_an_edit_of_one_of_10000_elements_touches_one_resource(tmp_path, autojump_clock):
    path = tmp_path / "site.yaml"

    def graph(odd):
        users = "".join(
            f"    u{number}: {{n: {odd if number == 77 else number}}}\n" for number in range(10_000)
        )
        loop = (
            'resources: [{job: [{"{{ key }}": {for_each: "{{ Data.users }}", command: "{{ item.n }}"}}]}]\n'
        )
        path.write_text(f"data:\n  users:\n{users}{loop}")
        manifest, problems = read_manifests([str(path)], KINDS)
        found, conflicts = build(manifest.resources, locate=manifest.locate, chains=manifest.chains)
        assert [*problems, *conflicts] == []
        return found

    async with running(graph=graph("odd")) as story:
        await story.converged()
        heard = len(story.events)
        reloaded = story.engine.reload(graph("edited"))
        await story.converged(times=2)
    assert (reloaded.kept, reloaded.changed, reloaded.added, reloaded.gone) == (9_999, ("job#u77",), (), ())
    checked = [each.ref for each in story.events[heard:] if isinstance(each, Checked)]
    assert checked == ["job#u77"]


def test_elements_with_a_mistake_in_their_expression_are_reported_once(read):
    reading = read('resources: [{job: [{a: {for_each: "{{ output( }}"}}]}]\n')
    assert len(reading.messages) == 1
    assert reading.positions == [(1, 46)]
