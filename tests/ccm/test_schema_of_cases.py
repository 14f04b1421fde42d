"""The JSON Schema takes every manifest that is taken."""

import ccm_cases
import jsonschema
import pytest

from reactor.documents import parse_values
from reactor.manifest.manifest import read_manifests
from reactor.manifest.schema import json_schema


@pytest.fixture(scope="module")
def validator():
    return jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("case", [*ccm_cases.named("manifest_validation"), *ccm_cases.named("apply_runs")])
def test_the_schema_takes_what_is_taken(case, world, validator):
    manifest = world(case)
    _, problems = read_manifests([str(manifest)])
    tree = None if problems else parse_values(manifest.read_text(), str(manifest))
    assert problems or not list(validator.iter_errors(tree))
