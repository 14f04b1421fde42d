"""`reactor render` and `reactor schema`."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from json_schemas import check_schema

EXAMPLES = Path(__file__).parents[2] / "examples"

MANIFEST = """
data: {port: 80, names: [a, b]}
resources:
  - file:
      - defaults: {{own}, ensure: present}
      - "{dir}/${ Data.names[0] }": {content: "port ${ Data.port }", alias: first}
  - exec:
      - run it: {command: "/bin/echo ${ file('later') }", timeout: "${ Data.port }s"}
settings: {jobs: 3}
"""


def test_secrets_in_the_data_are_masked_however_short_they_are(reactor, manifest):
    text = "data:\n  pin: 123  # @secret\n  deep:\n    flag: true  # @secret\n    open: abc\nresources: []\n"
    shown = yaml.safe_load(reactor("render", manifest(text)).out)
    assert shown["data"] == {"pin": "[secret]", "deep": {"flag": "[secret]", "open": "abc"}}


def test_a_manifest_is_shown_as_it_is_after_loading(reactor, manifest, tmp_path):
    done = reactor("render", manifest(MANIFEST))
    assert done.code == 0, done.err
    shown = yaml.safe_load(done.out)
    assert shown["data"] == {"port": 80, "names": ["a", "b"]}
    assert shown["settings"] == {"jobs": 3}
    [file, command] = shown["resources"]
    assert file["file"]["name"] == f"{tmp_path}/a"
    assert file["file"]["content"] == "port ${ Data.port }", "what waits stays as it is written"
    assert command["exec"]["timeout"] == "80s"


def test_what_is_shown_is_a_manifest_again(reactor, manifest, tmp_path):
    first = reactor("render", manifest(MANIFEST))
    again = tmp_path / "again.yaml"
    again.write_text(first.out)
    assert reactor("render", again).out == first.out


def test_a_list_that_came_to_be_longer_or_shorter_than_it_is_written_is_shown_as_it_is(reactor, manifest):
    properties = "{command: /bin/true, returns: [], meta: {semaphores: [disk, disk]}}"
    done = reactor("render", manifest(f"resources: [{{exec: [{{a: {properties}}}]}}]"))
    assert done.code == 0, done.err
    [entry] = yaml.safe_load(done.out)["resources"]
    assert (entry["exec"]["returns"], entry["exec"]["meta"]["semaphores"]) == ([0], ["disk"])


@pytest.mark.parametrize(
    "text",
    [
        "1e3",
        "0o17",
        "yes",
        "0644",
        "1:30",
        "null",
        "",
        "9" * 2000,
        "a\nb\n",
        "a\n\n",
        " a\nb",
        "a \n",
        "a\tb",
        "\x85a",
        "a\u2028b\n",
    ],
)
def test_a_text_that_is_shown_is_the_same_text_again(reactor, manifest, tmp_path, text):
    again = tmp_path / "again.yaml"
    again.write_text(reactor("render", manifest(f"data: {{a: {json.dumps(text)}}}\nresources: []\n")).out)
    assert json.loads(reactor("render", "--format", "json", again).out)["data"] == {"a": text}


def test_lines_are_shown_as_lines(reactor, manifest):
    shown = reactor("render", manifest('data: {a: "one\\ntwo\\n"}\nresources: []\n')).out
    assert "  a: |\n    one\n    two\n" in shown


def test_an_invalid_manifest_is_not_shown(reactor, manifest):
    done = reactor("render", manifest("resources: [{file: [{/a: {nope: 1}}]}]"))
    assert (done.code, done.out) == (2, "")
    assert "file has no property 'nope'" in done.err


def test_the_schema_is_one_and_every_example_fits_it(reactor):
    schema = json.loads(reactor("schema").out)
    check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    valid = [path for path in EXAMPLES.glob("*.yaml") if path.name != "broken.yaml"]
    assert valid
    for path in valid:
        assert [error.message for error in check.iter_errors(yaml.safe_load(path.read_text()))] == []


@pytest.mark.parametrize("kind", ["file", "exec", "apply", "service"])
def test_the_schema_knows_every_kind(reactor, kind):
    assert kind in json.loads(reactor("schema").out)["$defs"]["entry"]["properties"]


LOOP = """
data:
  users: {alice: {n: "a{{b", deep: {x: {y: 1}}, pin: 7}}
resources:
  - exec:
      - list: {command: /bin/true}
  - file:
      - defaults: {{own}, ensure: present}
      - "{dir}/{{ key }}":
          for_each: "{{ Data.users }}"
          content: "{{ item.n }} {{ output('exec#list').stdout }} {{ item.deep.x.y + len(output('exec#list').stdout) }}"
          control: {if: "key != output('exec#list').stdout"}
      - "{dir}/known-{{ key }}": {for_each: "{{ Data.users }}", content: "{{ item.n }} {{ Data.users.alice.deep.x.y }}"}
"""


def test_what_is_not_known_in_a_loop_keeps_what_it_uses_of_the_loop(reactor, manifest, tmp_path):
    done = reactor("render", manifest(LOOP))
    assert done.code == 0, done.err
    _, late, known = yaml.safe_load(done.out)["resources"]
    assert known["file"]["content"] == "a{{b 1"
    assert late["file"]["control"] == {"if": "let key = \"alice\"; key != output('exec#list').stdout"}
    item = '{ "n": "a{{b", "deep": { "x": { "y": 1 } }, "pin": 7 }'
    assert late["file"]["content"] == (
        f"{{{{ let item = {item}; item.n }}}} {{{{ output('exec#list').stdout }}}} "
        f"{{{{ let item = {item}; item.deep.x.y + len(output('exec#list').stdout) }}}}"
    )
    again = tmp_path / "again.yaml"
    again.write_text(done.out)
    assert reactor("render", again).out == done.out, "outside of the loop, it means the same"


def test_a_secret_of_an_element_is_masked_however_short_it_is(reactor, manifest):
    text = """
data:
  users:
    alice:
      pin: 7  # @secret
      n: x
resources:
  - exec: [{list: {command: /bin/true}}]
  - file:
      - "{dir}/{{ key }}": {for_each: "{{ Data.users }}", {own}, ensure: present,
                            content: "{{ item.pin + len(output('exec#list').stdout) }}"}
"""
    done = reactor("render", manifest(text))
    assert done.code == 0, done.err
    assert "[secret]" in yaml.safe_load(done.out)["resources"][1]["file"]["content"]
    assert "7" not in done.out.split("content:")[1]


def test_child_manifests_and_roles_are_shown_as_what_they_make(reactor, manifest, tmp_path):
    role = tmp_path / "roles" / "web"
    role.mkdir(parents=True)
    (role / "manifest.yaml").write_text(
        "parameters: {port: integer}\ndata: {root: /srv}\nresources:\n"
        '  - exec: [{reload: {command: "/bin/echo {{ Parameters.port }}", refreshonly: true, require: exec#first}}, {first: {command: /bin/true}}]\n'
        f"  - file: [{{{tmp_path}/a: {{content: \"Listen {{{{ Parameters.port }}}} {{{{ output('exec#first').stdout }}}}\", "
        "ensure: present, owner: root, group: root, mode: '0644'}}]\n"
    )
    site = manifest("resources: [{role: [{web: {parameters: {port: 80}}}]}]\n")
    assert len([*yaml.safe_load_all(reactor("render", site).out)]) == 1
    done = reactor("render", "--children", site)
    _, shown = yaml.safe_load_all(done.out)
    assert (shown["applied_by"], shown["manifest"]) == ("role#web", str(role / "manifest.yaml"))
    assert shown["data"] == {"root": "/srv"}
    reload, first, file = shown["resources"]
    assert reload["exec"]["command"] == "/bin/echo 80"
    assert reload["exec"]["require"] == ["exec#web/first"]
    assert first["exec"]["name"] == "first"
    assert (
        file["file"]["content"]
        == "Listen {{ let Parameters = { \"port\": 80 }; Parameters.port }} {{ output('exec#first').stdout }}"
    )
    [_, child] = json.loads(reactor("render", "--children", "--format", "json", site).out)
    assert child == shown


def test_a_loop_whose_elements_are_not_known_is_shown_as_written(reactor, manifest, tmp_path):
    text = """
resources:
  - exec: [{list: {command: /bin/true}}]
  - file:
      - "{dir}/{{ item }}": {for_each: "{{ [output('exec#list').stdout] }}", {own}, ensure: present, content: a,
                             meta: {retry: 3, timeout: 1.50s}}
"""
    done = reactor("render", manifest(text))
    assert done.code == 0, done.err
    loop = yaml.safe_load(done.out)["resources"][1]["file"]
    assert loop["name"] == f"{tmp_path}/{{{{ item }}}}"
    assert loop["for_each"] == "{{ [output('exec#list').stdout] }}"
    assert loop["content"] == "a"
    assert loop["meta"] == {"retry": 3, "timeout": "1.50s"}
