"""``--hiera FILE``: data of a site over those of the manifest, with rules of their own."""

import json

import pytest

from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource import redaction
from reactor.resource.diagnostic import ManifestError

MANIFEST = """
data:
  # @require
  name:
  list: [m]
  own: m
resources: [{exec: [{say: {command: "/bin/echo ${ Data.name } ${ Data.list } ${ Data.own }"}}]}]
"""


@pytest.fixture
def site(tmp_path):
    def of(text, manifest=MANIFEST, **inputs):
        (tmp_path / "m.yaml").write_text(manifest)
        (tmp_path / "site.yaml").write_text(text)
        return load(str(tmp_path / "m.yaml"), Inputs(site=str(tmp_path / "site.yaml"), **inputs))

    return of


def test_its_data_win_over_the_manifest_and_those_of_the_command_line_over_both(site):
    program = site("data: {name: s, list: [s]}", data={"list": ["c"]})
    assert program.data == {"name": "s", "list": ["m", "s", "c"], "own": "m"}


def test_it_has_a_hierarchy_of_its_own(site):
    text = "hierarchy: {order: ['role:${ Facts.role }']}\ndata: {name: s}\noverrides: {'role:db': {name: db}}"
    assert site(text, facts={"role": "db"}).data["name"] == "db"
    assert site(text, facts={"role": "web"}).data["name"] == "s"


def test_an_override_that_is_no_map_is_skipped_and_reported(site, tmp_path):
    program = site("data: {name: s}\noverrides:\n  default: 5\n")
    assert program.data["name"] == "s"
    said = "the override default is skipped: it is not a map; write 'key: value' below it"
    assert program.warnings == (f"{tmp_path}/site.yaml:3:3: {said}",)


def test_its_rules_hold_for_what_all_come_to(site, tmp_path):
    text = "data:\n  # @require\n  own:\n  # @validate isInt(value)\n  name: s\n"
    with pytest.raises(ManifestError) as caught:
        site(text)
    found = [(each.place.file, each.place.line, each.message) for each in caught.value.diagnostics]
    file = str(tmp_path / "site.yaml")
    assert found == [
        (str(tmp_path / "m.yaml"), 7, "the expression gives nil, which would be written <nil>"),
        (file, 2, 'key "own" is required but has no value'),
        (file, 4, 'key "name" failed validation "isInt(value)"'),
    ]
    assert site(text, data={"name": "5", "own": "x"}).data["name"] == "5"


def test_what_is_wrong_with_it_is_reported_with_the_rest(site):
    with pytest.raises(ManifestError) as caught:
        site("data: {name: '${ nope }'}\nhierarchy: {order: [1]}", MANIFEST.replace("exec", "exce"))
    said = str(caught.value)
    assert [word in said for word in ("unknown name nope", "only strings", "unknown kind 'exce'")] == [
        True
    ] * 3


def test_an_annotation_that_means_nothing_is_a_warning(site, tmp_path):
    program = site("data:\n  # @requird\n  name: s\n")
    assert program.warnings == (
        f"{tmp_path}/site.yaml:2:3: unknown annotation @requird; did you mean 'required'?",
    )


def test_its_secrets_are_secret(site, tmp_path):
    program = site("data:\n  # @secret\n  name: hush-hush\n")
    [resource] = program.graph.resources.values()
    assert resource.secrets == {"command"}
    assert redaction.redact("hush-hush") == redaction.MASK


def test_a_child_that_is_given_no_data_of_its_own_has_them(site, tmp_path):
    (tmp_path / "child.yaml").write_text("resources: [{exec: [{'/bin/echo ${ Data.name }': {}}]}]")
    program = site("data: {name: s}", "resources: [{apply: [{child.yaml: {}}]}]")
    assert "exec#/bin/echo s" in program.graph.resources


def test_one_that_is_not_there_is_an_error(tmp_path):
    (tmp_path / "m.yaml").write_text("resources: []")
    with pytest.raises(ManifestError, match=r"nope\.yaml|No such file"):
        load(str(tmp_path / "m.yaml"), Inputs(site=str(tmp_path / "nope.yaml")))


def test_the_data_command_says_which_layer_it_is(site, tmp_path, reactor):
    site("data: {name: s}")
    done = reactor(
        "data",
        tmp_path / "m.yaml",
        "name",
        "--hiera",
        tmp_path / "site.yaml",
        "--explain",
        "--format",
        "text",
    )
    assert (done.code, done.out) == (0, f"s  # {tmp_path}/site.yaml\n")


def test_the_data_command_says_which_override_of_a_site_it_is(site, tmp_path, reactor):
    site(
        "hierarchy: {order: [all, none], merge: deep}\n"
        "data: {name: s, names: [a], of: data}\n"
        "overrides: {all: {names: [b], deep: {of: all}}, none: {}}"
    )
    done = reactor(
        "data", tmp_path / "m.yaml", "--hiera", tmp_path / "site.yaml", "--explain", "--format", "json"
    )
    told, file = json.loads(done.out), str(tmp_path / "site.yaml")
    assert told["of"]["layer"] == file
    assert [each["layer"] for each in told["names"]] == [file, f"{file} overrides all"]
    assert told["deep"]["of"] == {"value": "all", "layer": f"{file} overrides all"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file or directory"),
        ("[a]", "a map with the key 'data' is expected here, not a list"),
        ("data: {name: '{{ Facts.none }}'}", "Facts has no key 'none'"),
    ],
)
def test_keys_that_site_data_with_an_error_may_have_are_not_missed_as_well(tmp_path, text, message):
    (tmp_path / "m.yaml").write_text(
        "resources: [{exec: [{say: {command: /bin/true, control: {if: Data.of_the_site}}}]}]"
    )
    if text is not None:
        (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(ManifestError) as caught:
        load(str(tmp_path / "m.yaml"), Inputs(site=str(tmp_path / "site.yaml")))
    (found,) = caught.value.diagnostics
    assert message in found.message
