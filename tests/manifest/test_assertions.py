"""``assertions``: what must hold before anything runs."""

import jsonschema
import pytest
from small_kinds import KINDS

from reactor.manifest.schema import json_schema


def test_what_holds_is_no_problem(read):
    assert (
        read(
            "data: {n: 3}\nassertions: [{assert: Data.n > 2 && 3 * GiB > 2 * MiB}]\nresources: []\n"
        ).diagnostics
        == []
    )


@pytest.mark.parametrize(
    "unit", ["KiB == 1024", "MiB == 1024 * KiB", "GiB == 1024 * MiB", "TiB == 1024 * GiB"]
)
def test_each_unit_of_memory_is_1024_of_the_one_before(read, unit):
    assert read(f"assertions: [{{assert: {unit}}}]\nresources: []\n").diagnostics == []


def test_what_does_not_hold_is_an_error_with_the_message_and_the_place_of_the_condition(read):
    reading = read(
        "data: {n: 3}\nassertions:\n  - assert: Data.n > 5\n    message: n is {{ Data.n }}, too few\n"
        "  - assert: Data.n > 6\nresources: []\n"
    )
    assert reading.messages == ["n is 3, too few", "the assertion failed: Data.n > 6"]
    assert reading.positions == [(3, 13), (5, 13)]
    assert {each.code for each in reading.diagnostics} == {"R0117"}


@pytest.mark.parametrize(
    ("assertions", "message"),
    [
        ("[{assert: Data.m}]", "Data has no key 'm'"),
        ("[{assert: 1 + 1}]", "assert must be true or false, not 2"),
        ("[{assert: 'Data.n ?? nil'}]", "assert must be true or false, not nothing"),
        ("[{assert: '{{ true }}'}]", "a condition must be written without {{ }} and ${ }"),
        ("[{assert: 'false', message: '{{ Data.m }}'}]", "Data has no key 'm'"),
        ("[{message: x}]", "an assertion requires the property 'assert'"),
        ("[{assert: 'true', mesage: x}]", "an assertion has no property 'mesage'"),
        ("[x]", "an assertion is a map, not 'x'"),
        ("{assert: x}", "assertions must be a list, not a map"),
    ],
)
def test_what_is_no_assertion_is_an_error(read, assertions, message):
    assert read(f"data: {{}}\nassertions: {assertions}\nresources: []\n").messages == [message]


def test_the_ccm_form_has_none(read):
    reading = read("assertions: []\nccm: {resources: [{job: [{a: }]}]}\n")
    assert reading.messages == ["unknown key 'assertions'"]


def test_the_schema_knows_them():
    manifest = {"assertions": [{"assert": "true", "message": "x"}], "resources": []}
    jsonschema.validate(manifest, json_schema(KINDS))
    del manifest["assertions"][0]["assert"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(manifest, json_schema(KINDS))
