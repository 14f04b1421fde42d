import json

import jsonschema
import pytest
from json_schemas import check_schema
from small_kinds import KINDS
from test_manifest_mutations import CCM, NATIVE

from reactor.manifest.schema import json_schema
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parse


@pytest.fixture(scope="module")
def validator():
    schema = json_schema(KINDS)
    check_schema(schema)
    return jsonschema.Draft202012Validator(json.loads(json.dumps(schema)))


def valid(validator, text):
    return validator.is_valid(parse(Problems(Source("site.yaml", text))))


GOOD = [
    NATIVE,
    CCM,
    "resources: []",
    "$schema: reactor.schema.json\nresources: []",
    "$schema: reactor.schema.json\nccm: {resources: [{job: [a: {}]}]}",
    "data:\nsettings:\nhierarchy:\noverrides:\nresources: []",
    "resources: [{page: [{defaults: }, {/a: }]}]",
    "resources: [{page: [{/a: {mode: 0644, content: , tags: [1, true]}}]}]",
    "resources: [{job: {name: 1.10, command: true, refreshonly: true}}]",
    "resources: [{job: {name: a, command: b, refresh_only: true}}]",
    "resources: [{job: [{a: {require: job#b, after: [job#c], meta: {limit: 5/s, timeout: 1h30m}}}]}]",
    "resources: [{page: [{/a: {provider: posix, either: [x], pause: 0}}]}]",
]


@pytest.mark.parametrize("text", GOOD)
def test_the_schema_accepts_what_can_be_read(validator, read, text):
    assert [found for found in read(text).messages if "requires the property" not in found] == []
    assert valid(validator, text)


BAD = [
    "[]",
    "{}",
    "ccm: {resources: []}",
    "ccm: {resources_jet_file: x, resources: [{job: []}]}",
    "ccm: {}",
    "ccm: {resources: [{job: []}]}\nresources: []",
    "odd: 1\nresources: []",
    "settings: {jobs: 0}\nresources: []",
    "settings: {order: graph}\nresources: []",
    "resources: {}",
    "resources: [job]",
    "resources: [{}]",
    "resources: [{job: {name: a, command: b, refresh_only: later}}]",
    "resources: [{odd: []}]",
    "resources: [{job: [], page: []}]",
    "resources: [{job: [a]}]",
    "resources: [{job: [{a: , b: }]}]",
    "resources: [{job: {command: x}}]",
    "resources: [{job: [{a: {name: b}}]}]",
    "resources: [{job: [{a: {comand: x}}]}]",
    "resources: [{job: [{a: {command: [x]}}]}]",
    "resources: [{job: [{a: {refreshonly: yes}}]}]",
    "resources: [{job: [{a: {require: b}}]}]",
    "resources: [{job: [{a: {meta: {timeout: 5}}}]}]",
    "resources: [{page: [{/a: {ensure: presnt}}]}]",
    "resources: [{page: [{/a: {provider: odd}}]}]",
    "resources: [{page: {name: a, ensure: present}}]",
]


@pytest.mark.parametrize("text", BAD)
def test_the_schema_rejects_what_can_not_be_read(validator, read, text):
    assert read(text).diagnostics
    assert not valid(validator, text)


def test_the_schema_describes_the_installed_kinds():
    schema = json_schema()
    check_schema(schema)
    assert {"file", "exec"} <= schema["$defs"]["entry"]["properties"].keys()
    text = "resources: [{file: [{/a: {ensure: present, mode: 0644}}]}, {exec: {name: x, timeout: 30s}}]"
    assert valid(jsonschema.Draft202012Validator(schema), text)
