import json
import os
import subprocess
import sys

from processes_of_cli import environment

VALID = "resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n"
TWO_PROBLEMS = """
resources:
  - file:
      - {dir}/a: { ensure: presnt, {own} }
      - {dir}/b: { ensure: present, require: "file#{dir}/nowhere", {own} }
"""


def test_valid_manifests_are_counted_and_nothing_is_touched(reactor, manifest, tmp_path):
    path = manifest(VALID)
    done = reactor("validate", path)
    assert (done.code, done.out, done.err) == (0, f"{path}: ok, 1 resource\n", "")
    assert list(tmp_path.iterdir()) == [path]


def test_all_problems_of_all_manifests_are_shown_at_once(reactor, manifest, tmp_path):
    good, bad = manifest(VALID), manifest(TWO_PROBLEMS, "bad.yaml")
    missing = tmp_path / "missing.yaml"
    done = reactor("validate", bad, good, missing)
    assert done.code == 2
    assert done.out == f"{good}: ok, 1 resource\n"
    assert f"{bad}:4:" in done.err
    assert f"{bad}:5:" in done.err
    assert str(missing) in done.err


AS_ANYBODY = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""Root may read everything."""


def test_a_manifest_that_may_not_be_read_does_not_hide_what_is_wrong_with_others(manifest):
    good, bad, closed = manifest(VALID), manifest(TWO_PROBLEMS, "bad.yaml"), manifest(VALID, "closed.yaml")
    closed.chmod(0)
    command = [
        *AS_ANYBODY,
        sys.executable,
        "-m",
        "reactor",
        "validate",
        "--format",
        "json",
        closed,
        bad,
        good,
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 2
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["event"] for record in records] == ["diagnostic", "diagnostic", "diagnostic", "valid"]
    assert records[0]["message"] == "can't read the manifest: Permission denied"
    assert f"{closed}:1:1: error[R0101]: can't read the manifest" in done.stderr


def test_json_has_one_record_for_each_problem_and_each_valid_manifest(reactor, manifest):
    good, bad = manifest(VALID), manifest(TWO_PROBLEMS, "bad.yaml")
    records = reactor("validate", "--format", "json", bad, good).records
    assert [record["event"] for record in records] == ["diagnostic", "diagnostic", "valid"]
    assert [record["line"] for record in records[:2]] == [4, 5]
    assert records[2] == {"event": "valid", "manifest": str(good), "resources": 1}


def test_a_relative_name_means_nothing_in_a_directory_that_was_removed(reactor, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    done = reactor("validate", "site.yaml")
    assert (done.code, done.err) == (
        1,
        "error[R0704]: the current directory was removed\nhint: go to another one, or name files by their whole paths\n",
    )


def test_no_manifest_is_bad_usage(reactor):
    assert reactor("validate").code == 2


def test_diagnostics_are_coloured_only_where_asked(reactor, manifest, monkeypatch):
    path = manifest(TWO_PROBLEMS)
    assert "\x1b[" not in reactor("validate", path).err
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert "\x1b[" in reactor("validate", path).err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in reactor("validate", path).err


def test_what_is_wrong_with_rendered_resources_is_shown_in_their_text(reactor, manifest, tmp_path):
    path = manifest("data: {say: hello}\nccm: {resources_jet_file: r.jet}\n")
    (tmp_path / "r.jet").write_text("- exec:\n    - a:\n        comand: /bin/echo [[ Data.say ]]\n")
    done = reactor("validate", path)
    assert f"{tmp_path}/r.jet (rendered):3:9: error[R0106]: exec has no property 'comand'" in done.err
    assert "\n  3 |         comand: /bin/echo hello\n    |         ^\n" in done.err


def test_a_template_that_gives_a_map_is_an_error_at_the_start_of_its_text(reactor, manifest, tmp_path):
    path = manifest("ccm: {resources_jet_file: r.jet}\n")
    (tmp_path / "r.jet").write_text("exec: []\n")
    done = reactor("validate", path)
    assert (
        f"{tmp_path}/r.jet (rendered):1:1: error[R0105]: the template must give a list of resources"
        in done.err
    )


def test_a_wrong_default_takes_no_other_default_away(reactor, manifest, tmp_path):
    defaults = "defaults: {file: {ensure: present, owner: root, group: root, mode: wrong}}\n"
    done = reactor(
        "validate",
        manifest(f"{defaults}resources: [{{file: [{tmp_path}/a: {{content: x, mode: '0644'}}]}}]\n"),
    )
    assert done.err.count("error[") == 1
    assert "error[R0111]: mode: mode 'wrong' is" in done.err


def test_a_reference_into_a_manifest_that_is_not_there_is_no_further_error(reactor, manifest, tmp_path):
    path = manifest("resources: [{exec: [{a: {command: /bin/true, require: exec#other}}]}]\n")
    done = reactor("run", "--converge-once", path, tmp_path / "none.yaml")
    assert done.code == 2
    assert done.err.count("error[") == 1
    assert "none.yaml:1:1: error[R0101]: can't read the manifest" in done.err


def test_rendered_resources_with_a_secret_in_them_are_not_shown(reactor, manifest, tmp_path):
    path = manifest("data:\n  say: hey  # @secret\nccm: {resources_jet_file: r.jet}\n")
    (tmp_path / "r.jet").write_text("- exec:\n    - a:\n        comand: /bin/echo [[ Data.say ]]\n")
    done = reactor("validate", path)
    assert "exec has no property 'comand'" in done.err
    assert "hey" not in done.err


SOURCES = """
resources:
  - file:
      - {dir}/out/a: {{ ensure: present, source: files/a, {own} }}
      - {dir}/out/b: {{ ensure: present, template: b.j2, {own} }}
      - {dir}/out/c: {{ ensure: present, source: /nowhere/on/this/host, {own} }}
      - {dir}/out/d: {{ ensure: present, source: made/d, {own} }}
      - {dir}/made/d: {{ ensure: present, content: x, {own} }}
      - {dir}/out/e: {{ ensure: present, source: there, {own} }}
  - apply:
      - child.yaml: {{}}
""".replace("{{", "{").replace("}}", "}")


def test_what_is_missing_beside_a_manifest_is_warned_of(reactor, manifest, tmp_path):
    (tmp_path / "there").touch()
    path = manifest(SOURCES)
    done = reactor("validate", path)
    assert (done.code, done.out) == (0, f"{path}: ok, 7 resources\n")
    assert [line for line in done.err.splitlines(keepends=True) if line.startswith("warning")] == [
        f"warning: {path}:4:9: file#{tmp_path}/out/a: the source {tmp_path}/files/a does not exist\n",
        f"warning: {path}:5:9: file#{tmp_path}/out/b: the template {tmp_path}/b.j2 does not exist\n",
        f"warning: {path}:11:9: apply#child.yaml: the manifest {tmp_path}/child.yaml does not exist\n",
    ]
    assert f"does not exist\n  3 |   - file:\n  4 |       - {tmp_path}/out/a: " in done.err
    assert done.err.count(" |         ^\n") == 3, "as below an error"


def test_the_files_that_facts_come_from_are_not_files_of_the_manifest(
    reactor, manifest, tmp_path, monkeypatch
):
    """Beside them, in /etc, nothing is missing; and a run skips one that others could change, and refuses nothing."""
    facts = tmp_path / "reactor" / "facts.yaml"
    facts.parent.mkdir()
    facts.write_text("role: web")
    facts.chmod(0o666)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = reactor("validate", manifest(
        "resources: [{file: [{/nowhere: {ensure: present, source: /etc/made-by-a-package, owner: root, group: root,"
        " mode: '0600', control: {if: Facts.host.info.os == 'linux'}}}]}]"
    ))  # fmt: skip
    assert done.code == 0
    assert done.err.count("warning: ") == 1
    assert done.err.startswith(f"warning: {facts}: the file is skipped: ")


def test_a_manifest_that_a_run_would_refuse_is_warned_of(reactor, manifest):
    path = manifest(VALID)
    path.chmod(0o666)
    done = reactor("validate", path)
    assert (done.code, done.out) == (0, f"{path}: ok, 1 resource\n")
    assert done.err == (
        f"warning: 'reactor run' would refuse {path}: {path} can be written by every user (chmod o-w {path})\n"
    )


TEMPLATES = """
resources:
  - file:
      - {dir}/out: { ensure: present, template: a.j2, {own} }
  - scaffold:
      - {dir}/made: { ensure: present, source: tree, engine: go }
"""


def test_a_template_that_can_not_be_compiled_is_an_error_with_its_place(reactor, manifest, tmp_path):
    path = manifest(TEMPLATES)
    (path.parent / "a.j2").write_text("a\n{% if x %}\n")
    (path.parent / "tree" / "d").mkdir(parents=True)
    (path.parent / "tree" / "d" / "b").write_text("{{ if .x }}")
    (path.parent / "tree" / "c").write_text("{{ .data }}")
    done = reactor("validate", path)
    assert done.code == 2
    assert f"{path.parent}/a.j2:2:1: error[R0306]: Unexpected end of template." in done.err
    assert f"{path.parent}/tree/d/b:1:12: error[R0306]: unexpected EOF" in done.err
    assert "2 errors" in done.err
    (path.parent / "a.j2").write_text("a\n{% if data %}{% endif %}\n")
    (path.parent / "tree" / "d" / "b").write_text("{{ if .x }}{{ end }}")
    assert reactor("validate", path).code == 0


def test_an_error_of_the_manifest_hides_none_of_the_templates(reactor, manifest):
    path = manifest(TEMPLATES)
    (path.parent / "tree").mkdir()
    (path.parent / "tree" / "c").write_text("{{ .data }}")
    (path.parent / "a.j2").write_text("a\n{% if x %}\n")
    path.write_text(f"{path.read_text()}  - fiel:\n      - x: {{}}\n")
    done = reactor("validate", path)
    assert "unknown kind 'fiel'" in done.err
    assert "Unexpected end of template" in done.err
    path.write_text(
        f"{path.read_text()}  - file:\n      - {path.parent}/a.j2: {{ensure: present, contents: x}}\n"
    )
    done = reactor("validate", path)
    assert "did you mean 'content'?" in done.err
    assert "Unexpected end of template" not in done.err, "a resource will make another one"


INCLUDING = """
resources:
  - file:
      - {dir}/one: { ensure: present, template: t/a.j2, {own} }
      - {dir}/two: { ensure: present, template: t/a.tmpl, engine: go, {own} }
      - {dir}/three: { ensure: present, template: t/a.jet, engine: jet, {own} }
      - {dir}/t/made.j2: { ensure: present, content: x, {own} }
"""
INCLUDED = {
    "a.j2": "{% if Data.x %}{% include 'gone.j2' %}{% endif %}{% include 'in.j2' %}{% include 'made.j2' %}"
    "{% include 'gone' ignore missing %}{% include ['gone', 'in.j2'] %}{% include Data.x %}",
    "in.j2": "{% if %}",
    "a.tmpl": '{{ if false }}{{ template "gone.tmpl" . }}{{ end }}{{ template "lib.tmpl" }}{{ template "defined" }}'
    '{{ readFile "x" }}{{ lookup "data.x" "" }}{{ render "x" . }}{{ and 1 (toYAML .) }}{{ uper "x" }}',
    "lib.tmpl": '{{ define "defined" }}{{ end }}{{ b64encode "x" }}',
    "a.jet": "[[ include 'gone' ]][[ include 'in' ]][[ includeIfExists('gone') ]][[ include .x ]]".replace(
        "'", '"'
    ),
    "in.jet": "x",
}


def test_unknown_functions_and_what_is_wrong_in_included_templates_is_found_without_a_run(reactor, manifest):
    path = manifest(INCLUDING)
    root = path.parent / "t"
    root.mkdir()
    for name, text in INCLUDED.items():
        (root / name).write_text(text)
    done = reactor("validate", path)
    assert done.code == 2
    assert [line for line in done.err.splitlines() if line.startswith(("warning", str(root), "hint"))] == [
        f"warning: {root}/a.j2:1:1: there is no template gone.j2: it is looked up from {root}",
        f"warning: {root}/a.tmpl:1:18: there is no template gone.tmpl: it is looked up from {root}",
        f"warning: {root}/a.jet:1:4: there is no template gone or gone.jet: it is looked up from {root}",
        f"{root}/in.j2:1:1: error[R0306]: Expected an expression, got 'end of statement block'",
        f'{root}/a.tmpl:1:171: error[R0306]: function "toYAML" not defined',
        "hint: did you mean toYaml?",
        f'{root}/a.tmpl:1:186: error[R0306]: function "uper" not defined',
        "hint: did you mean upper?",
        f'{root}/lib.tmpl:1:35: error[R0306]: function "b64encode" not defined',
        "hint: did you mean b64enc?",
    ]


UNKNOWN = {
    "names.j2": "{{ nope }} {{ Data.x | toYaml }}",
    "all.j2": "{{ 1 | toYaml }}\n{{ 'a' | dict2items }} {% if 1 is succeeded %}{% endif %}",
    "calls.j2": "{% set f = 1 %}{{ no_such('x') }} {{ f }} {{ g | default(1) }} {% if h is defined %}{{ h }}{% endif %}\n  {{ item }} {{ nothing.x }}",
    "in.j2": "{% include 'part.j2' %}{% import 'lib.j2' as lib %}{{ lib.m(1) }}{{ file('x') }}{% for x in data.l %}{{ loop.index }}{% endfor %}",
    "part.j2": "{{ of_its_includer }}{{ calls() }}",
    "lib.j2": "{% macro m(a) %}{{ a }}{{ caller }}{% endmacro %}",
    "a.jet": "[[ no_such(.x) ]][[ f := 1 ]][[ f ]][[ 1 | toJson ]][[ json(1) | raw ]][[ nosuch: 1 ]][[ readFile('x') ]]",
}


def test_all_names_that_a_template_does_not_get_are_found_without_a_run(reactor, manifest):
    entries = "".join(
        f"      - {{dir}}/{name}: {{ ensure: present, template: t/{name}{', engine: jet' * name.endswith('jet')}, {{own}} }}\n"
        for name in UNKNOWN
        if name not in ("part.j2", "lib.j2")
    )
    path = manifest(f"resources:\n  - file:\n{entries}")
    root = path.parent / "t"
    root.mkdir()
    for name, text in UNKNOWN.items():
        (root / name).write_text(text)
    done = reactor("validate", path)
    assert "hint: a value of the data is written Data.nothing; if it may be missing" in done.err
    assert [
        line.removeprefix(f"{root}/") for line in done.err.splitlines() if line.startswith(str(root))
    ] == [
        "names.j2:1:24: error[R0306]: No filter named 'toYaml'.",
        "all.j2:1:8: error[R0306]: No filter named 'toYaml'.",
        "all.j2:2:10: error[R0306]: No filter named 'dict2items'.",
        "all.j2:2:35: error[R0306]: No test named 'succeeded'.",
        "calls.j2:1:19: error[R0306]: 'no_such' is undefined",
        "calls.j2:2:6: error[R0306]: 'item' is undefined",
        "calls.j2:2:17: error[R0306]: 'nothing' is undefined",
        "part.j2:1:25: error[R0306]: 'calls' is undefined",
        'a.jet:1:4: error[R0306]: identifier "no_such" not available in current or parent scope',
        'a.jet:1:44: error[R0306]: identifier "toJson" not available in current or parent scope',
        'a.jet:1:75: error[R0306]: identifier "nosuch" not available in current or parent scope',
    ]


def test_a_template_that_a_resource_makes_is_not_compiled_yet(reactor, manifest):
    path = manifest(
        "resources:\n  - file:\n      - {dir}/t: { ensure: present, content: x, {own} }\n"
        "      - {dir}/out: { ensure: present, template: {dir}/t, {own} }\n"
    )
    (path.parent / "t").write_text("{% if x %}\n")
    assert reactor("validate", path).code == 0


def test_a_template_that_a_run_cannot_read_is_a_warning(reactor, manifest):
    entry = "      - {dir}/out%s: { ensure: present, template: %s, {own} }\n"
    path = manifest("resources:\n  - file:\n" + entry % (1, "latin.j2") + entry % (2, "tree"))
    (path.parent / "latin.j2").write_bytes(b"\xff")
    (path.parent / "tree").mkdir()
    done = reactor("validate", path)
    assert (
        f"{path}:3:9: file#{path.parent}/out1: {path.parent}/latin.j2 is not UTF-8 text at byte 0\n"
        in done.err
    )
    assert (
        f"{path}:4:9: file#{path.parent}/out2: cannot read the template {path.parent}/tree: Is a di"
        in done.err
    )
