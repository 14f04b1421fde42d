"""Expressions whose values could be others each time they are asked for."""

from __future__ import annotations

import pytest
import trio

from reactor import Cause, Result
from reactor.engine.events import AuditFound, Flapping
from reactor.engine.options import RunOptions
from reactor.resource.diagnostic import ManifestError
from reactor.testing.story import running

CLOCK = """
resources:
  - exec:
      - reload: {command: "/bin/sh -c 'echo x >> {dir}/reloaded'", refreshonly: true, subscribe: "file#{dir}/out"}
  - file:
      - {dir}/out: {{own}, content: "${ now().Format('2006-01-02 15:04:05.000000') } ${ file('in.txt') }"}
      - {dir}/nested: {{own}, content: "${ template('now.templ') }"}
"""


async def test_time_stands_still_within_one_generation(site, tmp_path):
    files = {"in.txt": "", "now.templ": "${ now().Format('15:04:05.000000') } ${ now().Unix() }"}
    async with running(graph=site(CLOCK, **files).graph) as story:
        await story.converged()
        written = [(tmp_path / name).read_text() for name in ("out", "nested")]
        for ref in (f"file#{tmp_path}/out", f"file#{tmp_path}/nested"):
            before = len(story.checks(ref))
            story.drift(ref)
            await story.until(lambda ref=ref, before=before: len(story.checks(ref)) > before)
            assert story.checks(ref)[-1].result is Result.OK
        await story.rest()
    assert [(tmp_path / name).read_text() for name in ("out", "nested")] == written
    assert (tmp_path / "reloaded").read_text() == "x\n"
    assert written[0].split()[1] == written[1].split()[0], "one clock for all"


async def test_another_generation_has_another_time(site, tmp_path):
    text = "resources: [{file: [{'{dir}/out': {{own}, content: \"${ now().Format('05.000000') }\"}}]}]"
    first, second = site(text).graph, site(text).graph
    async with running(graph=first) as story:
        await story.converged()
        before = (tmp_path / "out").read_text()
        story.engine.reload(second)
        await story.until(lambda: story.checks(f"file#{tmp_path}/out")[-1].causes & Cause.INTENT)
        await story.rest()
        assert (tmp_path / "out").read_text() != before


@pytest.mark.parametrize("step", [1, -1], ids=["up", "down"])
async def test_flapping_with_a_value_that_moves_names_its_expression(site, tmp_path, step):
    reader = """
resources:
  - file:
      - {dir}/out: {{own}, content: "seen ${ file('in.txt') }"}
"""
    ref = f"file#{tmp_path}/out"
    async with running(graph=site(reader, **{"in.txt": "500"}).graph) as story:
        await story.converged()
        for number in range(500 + step, 500 + 200 * step, step):
            (tmp_path / "in.txt").write_text(str(number))
            await story.until(lambda n=number: (tmp_path / "out").read_text() == f"seen {n}")
            if story.all(Flapping):
                break
        await trio.lowlevel.checkpoint()
    [told] = story.all(Flapping)
    assert (told.ref, told.expressions) == (ref, ("content: seen ${ file('in.txt') }",))


ONE_CLOCK = """
data: {time: "${ now().Format('15:04:05.000000') }"}
resources:
  - file:
      - {dir}/data: {{own}, content: "${ Data.time }"}
      - {dir}/own: {{own}, content: "${ now().Format('15:04:05.000000') }"}
  - apply: [{child.yaml: {}}]
  - scaffold: [{'{dir}/tree': {ensure: present, engine: go, source: templates}}]
"""
CHILD = """
data: {time: "${ now().Format('15:04:05.000000') }"}
resources:
  - file:
      - {dir}/child: {{own}, content: "${ now().Format('15:04:05.000000') }"}
      - {dir}/child-data: {{own}, content: "${ Data.time }"}
"""


async def test_data_child_manifests_and_templates_have_the_same_clock_however_often_they_are_rendered(
    site, tmp_path
):
    clock = '{{ dateInZone "15:04:05.000000" now "UTC" }}'
    files = {"child.yaml": CHILD, "templates/clock": clock, "templates/other": "before"}
    async with running(graph=site(ONE_CLOCK, **files).graph) as story:
        await story.converged()
        (tmp_path / "templates/other").write_text("after")
        (tmp_path / "templates/clock").write_text(f"{clock} again")
        await story.until(lambda: (tmp_path / "tree/other").read_text() == "after")
        await story.until(lambda: (tmp_path / "tree/clock").read_text().endswith("again"))
        await story.rest()
    names = ("own", "data", "child", "child-data", "tree/clock")
    assert len({(tmp_path / name).read_text().removesuffix(" again") for name in names}) == 1


async def test_a_template_that_shows_the_time_is_rendered_once_and_repaired_to_that(site, tmp_path):
    scaffold = "resources: [{scaffold: [{'{dir}/tree': {ensure: present, engine: go, source: templates}}]}]"
    clock = {"templates/clock": '{{ now | date "15:04:05.000000" }}'}
    async with running(graph=site(scaffold, **clock).graph) as story:
        await story.converged()
        clock_file = tmp_path / "tree/clock"
        before = clock_file.read_text()
        clock_file.write_text("theirs")
        await story.until(lambda: clock_file.read_text() == before)
        await story.rest()
    assert {check.result for check in story.checks(f"scaffold#{tmp_path}/tree")} <= {
        Result.OK,
        Result.CHANGED,
    }


CLOCK_OF_AUDITS = """
resources:
  - file:
      - {dir}/beat: {{own}, content: "${ now().Format('15:04:05.000000') }", meta: {now: audit}}
      - {dir}/still: {{own}, content: "${ now().Format('15:04:05.000000') }"}
  - scaffold:
      - {dir}/tree: {ensure: present, engine: go, source: templates, meta: {now: audit}}
      - {dir}/plain: {ensure: present, engine: go, source: steady, meta: {now: audit}}
  - exec:
      - once: {command: "/bin/sh -c 'echo x >> {dir}/ran'", meta: {now: audit}}
      - told: {command: "/bin/sh -c 'echo x >> {dir}/told'", refreshonly: true, subscribe: "file#{dir}/beat"}
"""


async def test_the_clock_of_a_resource_moves_at_each_audit_where_the_manifest_says_so(site, tmp_path):
    files = {"templates/clock": '{{ now | date "15:04:05.000000" }}', "steady/text": "no clock"}
    graph = site(CLOCK_OF_AUDITS, **files).graph
    beat, still = f"file#{tmp_path}/beat", f"file#{tmp_path}/still"

    def read():
        return {name: (tmp_path / name).read_text() for name in ("beat", "still", "tree/clock", "ran")}

    async with running(graph=graph, options=RunOptions(watch=True, audit_interval=0.3)) as story:
        await story.converged()
        before, inode = read(), (tmp_path / "plain/text").stat().st_ino
        for name in ("beat", "tree/clock"):
            await story.until(lambda name=name: (tmp_path / name).read_text() != before[name])
        await story.until((tmp_path / "told").exists)
        await story.until(lambda: story.checks(still)[-1].causes is Cause.AUDIT)
        after = read()
    assert after["still"] == before["still"]
    assert after["ran"] == "x\n", "a command that shows no time is no other command"
    assert (tmp_path / "plain/text").stat().st_ino == inode
    assert Cause.AUDIT | Cause.INTENT in {check.causes for check in story.checks(beat)}
    assert not story.all(AuditFound), "no event was missed"
    assert not story.all(Flapping)


async def test_between_audits_that_clock_stands_still(site, tmp_path):
    async with running(
        graph=site(CLOCK_OF_AUDITS, **{"templates/clock": "{{ now }}", "steady/text": ""}).graph
    ) as story:
        await story.converged()
        before = (tmp_path / "beat").read_text()
        (tmp_path / "beat").write_text("theirs")
        await story.until(lambda: (tmp_path / "beat").read_text() == before)
        await story.rest()


def test_a_manifest_that_is_applied_has_no_clock_of_its_own(site):
    manifest = "resources: [{apply: [{child.yaml: {meta: {now: audit}}}]}]"
    with pytest.raises(ManifestError, match="apply has no values that can show the time"):
        site(manifest, **{"child.yaml": "resources: []"})
