"""A change in the next run is called an edit of the manifest or drift of the host, whichever it is."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def causes(reactor, manifest):
    """Run a manifest once, and return the causes of each change by the last component of its name."""

    def run(text, *options):
        done = reactor("run", "--converge-once", "--format", "json", *options, manifest(text))
        events = map(json.loads, done.out.splitlines())
        return {Path(each["ref"]).name: each["causes"] for each in events if each.get("result") == "changed"}

    return run


TAKING = """
resources:
  - file:
      - {dir}/a: { ensure: present, content: VALUE, {own} }
      - {dir}/b: { ensure: present, content: "${ output('file#{dir}/a').checksum }", {own} }
"""
TEMPLATE = """
data: { greeting: GREETING, unused: 1 }
resources:
  - file:
      - {dir}/a: { ensure: present, template: a.j2, {own} }
"""
SCAFFOLD = """
data: { greeting: GREETING }
resources:
  - scaffold:
      - {dir}/target: { ensure: present, source: templates }
"""
LOOP = """
resources:
  - file:
      - "{dir}/{{ key }}":
          for_each: { one: GREETING, two: hello }
          ensure: present
          template: a.j2
          owner: root
          group: root
          mode: "0644"
"""
ROLE = """
resources:
  - role:
      - greeter: { ensure: present, parameters: { greeting: GREETING } }
"""
OF_ROLE = """
parameters: { greeting: { type: string } }
resources:
  - file:
      - {dir}/a: { ensure: present, template: a.j2, {own} }
"""


def test_a_value_that_another_resource_gives_is_no_drift_when_the_manifest_has_changed_it(causes, tmp_path):
    assert causes(TAKING.replace("VALUE", "one")) == {"a": ["initial"], "b": ["initial"]}
    assert causes(TAKING.replace("VALUE", "two")) == {"a": ["intent"], "b": ["intent"]}
    (tmp_path / "b").write_text("foreign")
    assert causes(TAKING.replace("VALUE", "two")) == {"b": ["drift"]}


def test_an_edit_of_data_that_only_a_template_reads_is_no_drift(causes, tmp_path):
    (tmp_path / "a.j2").write_text("{{ data.greeting }}")
    assert causes(TEMPLATE.replace("GREETING", "hello")) == {"a": ["initial"]}
    assert causes(TEMPLATE.replace("GREETING", "welcome")) == {"a": ["intent"]}
    (tmp_path / "a").write_text("foreign")
    assert causes(TEMPLATE.replace("GREETING", "welcome")) == {"a": ["drift"]}
    assert (tmp_path / "a").read_text() == "welcome"


def test_an_edit_of_data_that_only_the_templates_of_a_scaffold_read_is_no_drift(causes, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/a").write_text("{{ data.greeting }}")
    assert causes(SCAFFOLD.replace("GREETING", "hello")) == {"target": ["initial"]}
    assert causes(SCAFFOLD.replace("GREETING", "welcome")) == {"target": ["intent"]}
    (tmp_path / "target/a").write_text("foreign")
    assert causes(SCAFFOLD.replace("GREETING", "welcome")) == {"target": ["drift"]}


def test_an_edit_of_the_element_of_a_loop_is_an_edit_of_its_resource_only(causes, tmp_path):
    (tmp_path / "a.j2").write_text("{{ item }}")
    assert causes(LOOP.replace("GREETING", "hello")) == {"one": ["initial"], "two": ["initial"]}
    (tmp_path / "two").write_text("foreign")
    assert causes(LOOP.replace("GREETING", "welcome")) == {"one": ["intent"], "two": ["drift"]}


def test_an_edit_of_a_parameter_that_only_a_template_of_the_role_reads_is_no_drift(
    causes, manifest, tmp_path
):
    (tmp_path / "roles/greeter").mkdir(parents=True)
    (tmp_path / "roles/greeter/a.j2").write_text("{{ Parameters.greeting }}")
    manifest(OF_ROLE, "roles/greeter/manifest.yaml")
    assert causes(ROLE.replace("GREETING", "hello"))["a"] == ["initial"]
    assert causes(ROLE.replace("GREETING", "welcome"))["a"] == ["intent"]
    (tmp_path / "a").write_text("foreign")
    assert causes(ROLE.replace("GREETING", "welcome"))["a"] == ["drift"]


def test_a_fact_that_a_template_reads_is_no_edit_of_the_manifest(causes, tmp_path):
    (tmp_path / "a.j2").write_text("{{ facts.site }}")
    facts = tmp_path / "facts.yaml"
    facts.write_text("site: north")
    assert causes(TEMPLATE, "--facts", facts) == {"a": ["initial"]}
    facts.write_text("site: south")
    assert causes(TEMPLATE, "--facts", facts) == {"a": ["drift"]}


HEALTH = """
resources:
  - file:
      - {dir}/a: { ensure: present, content: hello, {own}, health_checks: [{ command: PROGRAM }] }
"""


def test_an_edit_of_a_health_check_that_fails_then_is_no_drift(reactor, causes, manifest, tmp_path):
    assert causes(HEALTH.replace("PROGRAM", "/bin/true")) == {"a": ["initial"]}
    reactor("run", "--converge-once", manifest(HEALTH.replace("PROGRAM", "/bin/false")))
    told = reactor("why", f"file#{tmp_path}/a").out
    assert "failed" in told
    assert "something outside of reactor" not in told
    assert "It was checked because the run had started." in told
