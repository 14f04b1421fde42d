"""``reactor run --render`` shows what ``reactor render`` shows, and touches nothing."""

import json

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


def test_an_invalid_manifest_is_told(tmp_path, reactor):
    (tmp_path / "m.yaml").write_text("resources: [{exce: []}]")
    assert reactor("run", "--render", tmp_path / "m.yaml").code == 2
    assert reactor("run", "--render", "--detailed-exitcodes", tmp_path / "m.yaml").code == 1
