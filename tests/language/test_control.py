"""Conditions: what is not managed on this host is left alone, and is in nobody's way."""

import pytest
import trio

from reactor import Cause, ManifestError, Result
from reactor.engine.events import Skipped
from reactor.testing.story import converge_once, running

# if, unless, managed
TABLE = [
    ("1 == 1", None, True),
    ("1 == 2", None, False),
    (None, "1 == 1", False),
    (None, "1 == 2", True),
    ("1 == 1", "1 == 1", False),
    ("1 == 1", "1 == 2", True),
    ("Data?.missing", None, False),
    (None, "Data?.missing", True),
    ("Facts.os == 'linux'", None, True),
    ("any(Data.roles, {# == 'web'})", None, True),
    ("true", None, True),
]


def control(if_, unless):
    parts = [f'{name}: "{text}"' for name, text in (("if", if_), ("unless", unless)) if text is not None]
    return "{" + ", ".join(parts) + "}"


@pytest.mark.parametrize(("if_", "unless", "managed"), TABLE)
async def test_conditions_decide_whether_a_resource_is_managed(site, tmp_path, if_, unless, managed):
    text = f"data: {{roles: [web]}}\nresources: [{{exec: [{{'/bin/touch {{dir}}/it': {{control: {control(if_, unless)}}}}}]}}]"
    ended, story = await converge_once(graph=site(text, facts={"os": "linux"}).graph)
    assert (tmp_path / "it").exists() is managed
    assert ended.counts["skipped" if not managed else "changed"] == 1
    assert len(story.all(Skipped)) == (not managed)
    assert ended.left == 0


async def test_what_requires_a_resource_that_is_not_managed_goes_on_and_is_not_refreshed(site):
    graph = site("""
resources:
  - exec:
      - a: {command: /bin/true, control: {if: "1 == 2"}}
      - b: {command: /bin/true, require: exec#a}
      - c: {command: /bin/true, refreshonly: true, subscribe: exec#a}
""").graph
    _, story = await converge_once(graph=graph)
    assert [story.result(f"exec#{name}") for name in "abc"] == [Result.SKIPPED, Result.CHANGED, Result.OK]


async def test_a_failure_is_no_matter_to_what_is_not_managed_and_to_what_requires_that(site, tmp_path):
    graph = site("""
resources:
  - exec:
      - bad: {command: /bin/false}
      - a: {command: /bin/true, require: exec#bad, subscribe: exec#bad, control: {if: "1 == 2"}}
      - b: {command: /bin/true, require: exec#a}
      - c: {command: /bin/true, require: exec#bad}
""").graph
    _, story = await converge_once(graph=graph)
    results = [story.result(f"exec#{name}") for name in ("bad", "a", "b", "c")]
    assert results == [Result.FAILED, Result.SKIPPED, Result.CHANGED, Result.BLOCKED]
    order = [event.ref for event in story.events if getattr(event, "ref", None) in ("exec#bad", "exec#b")]
    assert order.index("exec#bad") < order.index("exec#b")


async def test_a_condition_on_an_output_is_decided_when_the_output_is_there(site, tmp_path):
    graph = site("""
resources:
  - exec:
      - probe: {command: /bin/echo yes}
      - "/bin/touch {dir}/a": {control: {if: "output('exec#probe').stdout == 'yes'"}}
      - "/bin/touch {dir}/b": {control: {unless: "output('exec#probe').stdout == 'yes'"}}
""").graph
    await converge_once(graph=graph)
    assert (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


async def test_a_reload_that_turns_a_condition_checks_that_resource_alone(site, tmp_path):
    text = """
resources:
  - file:
      - {dir}/a: {{own}, content: a, control: {if: "Data.on"}}
      - {dir}/b: {{own}, content: b}
"""
    async with running(graph=site("data: {on: false}" + text).graph) as story:
        await story.converged()
        assert not (tmp_path / "a").exists()
        checks = len(story.checks(f"file#{tmp_path}/b"))
        story.engine.reload(site("data: {on: true}" + text).graph)
        with trio.fail_after(60):
            await story.until(lambda: story.result(f"file#{tmp_path}/a") is Result.CHANGED)
        await story.rest()
        # The kernel may report the write of the first run as late as now.
        assert {check.causes for check in story.checks(f"file#{tmp_path}/b")[checks:]} <= {Cause.DRIFT}


@pytest.mark.parametrize(
    ("condition", "message", "offset"),
    [
        ("1 +", "unexpected", 2),
        ("Nope", "unknown name Nope", 0),
        ("'text'", "expected bool, but got", 0),
        ("5", "expected bool, but got", 0),
        ("{{ true }}", "written without {{ }}", 0),
        ("${ true }", "written without {{ }}", 0),
    ],
)
def test_a_condition_that_can_not_be_decided_is_reported_at_its_place(site, condition, message, offset):
    with pytest.raises(ManifestError) as caught:
        site(f'resources:\n  - exec:\n      - a: {{control: {{if: "{condition}"}}}}\n')
    [problem] = caught.value.diagnostics
    assert message in problem.message
    assert problem.place.line == 3
    assert problem.place.column == len('      - a: {control: {if: "') + 1 + offset


def test_resources_that_are_managed_elsewhere_may_want_the_same_path_to_be_different(site):
    text = """
ccm:
  resources:
    - file:
        - {dir}/a: {{own}, content: one, control: {if: "Facts.os == 'linux'"}}
        - {dir}/a: {{own}, content: two, control: {unless: "Facts.os == 'linux'"}}
"""
    assert len(site(text, facts={"os": "linux"}).graph.resources) == 2
    with pytest.raises(ManifestError, match="do not agree on content"):
        site(text.replace("unless", "if"), facts={"os": "linux"})


async def test_a_file_that_a_condition_reads_is_watched(site, tmp_path):
    text = """
resources:
  - file:
      - {dir}/a: {{own}, content: a, control: {if: "trim(file('switch')) == 'on'"}}
"""
    (tmp_path / "switch").write_text("off\n")
    async with running(graph=site(text).graph) as story:
        await story.converged()
        assert story.result(f"file#{tmp_path}/a") is Result.SKIPPED
        (tmp_path / "switch").write_text("on\n")
        await story.until(lambda: story.result(f"file#{tmp_path}/a") is Result.CHANGED)
