"""``reactor run --render`` shows what ``reactor render`` shows, and touches nothing."""

import json

import pytest
import yaml

MANIFEST = "data: {n: a}\nresources: [{exec: [{'/bin/touch %s/${ Data.n }': {timeout: 1m}}]}]"


def test_it_shows_the_same_as_the_command_and_ends(tmp_path, reactor):
    manifest = tmp_path / "m.yaml"
    manifest.write_text(MANIFEST % tmp_path)
    shown = reactor("render", manifest)
    assert reactor("run", "--render", manifest) == shown
    assert (shown.code, "timeout: 1m" in shown.out) == (0, True)
    as_json = reactor("run", "--render", "--format", "json", manifest)
    assert json.loads(as_json.out)["resources"] == [
        {"exec": {"name": f"/bin/touch {tmp_path}/a", "timeout": "1m"}}
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["m.yaml"]


def test_what_it_shows_can_be_run(tmp_path, reactor):
    manifest, again = tmp_path / "m.yaml", tmp_path / "again.yaml"
    manifest.write_text("data: {t: 90}\nresources: [{exec: [{/bin/true: {timeout: '${ Data.t }s'}}]}]")
    again.write_text(reactor("render", manifest).out)
    assert reactor("validate", again).code == 0


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("{jobs: 3, ordering: graph}", {"jobs": 3, "ordering": "graph"}),
        ("{ordering: manifest}", None),
        ("{fail_fast: true}", None),
    ],
)
def test_a_manifest_of_the_other_form_keeps_its_settings(tmp_path, reactor, written, shown):
    """What fails fast is said in the words of that form, and its usual order is not said at all."""
    manifest, again = tmp_path / "m.yaml", tmp_path / "again.yaml"
    manifest.write_text(f"ccm: {{resources: [{{exec: [/bin/true: {{}}]}}]}}\nsettings: {written}")
    first = reactor("render", manifest)
    found = yaml.safe_load(first.out)
    assert found.get("settings") == shown
    assert found["ccm"]["fail_on_error"] is ("fail_fast" in written)
    again.write_text(first.out)
    assert reactor("render", again).out == first.out


def test_an_invalid_manifest_is_reported(tmp_path, reactor):
    (tmp_path / "m.yaml").write_text("resources: [{exce: []}]")
    assert reactor("run", "--render", tmp_path / "m.yaml").code == 2
    assert reactor("run", "--render", "--detailed-exitcodes", tmp_path / "m.yaml").code == 1
