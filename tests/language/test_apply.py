"""The kind `apply`: other manifests as parts of the same graph."""

import os

import pytest
import trio

from reactor import ManifestError, Result, RunOptions
from reactor.engine.events import Blocked, Converged, WatcherChanged
from reactor.testing.story import Story, converge_once, running

CHILD = """
data: {who: child, list: [c1]}
ccm:
  resources:
    - exec:
        - hello: {command: "/bin/sh -c 'echo -n ${ Data.who } ${ Data.list } > {dir}/said'"}
"""


def said(tmp_path):
    return (tmp_path / "said").read_text()


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ("{}", "parent [c1 p1]"),
        ("{data: {who: prop}}", "prop [c1]"),
        ("{data: {list: [d1]}}", "child [c1 d1]"),
    ],
)
async def test_data_go_down_and_win(site, tmp_path, properties, expected):
    parent = f"data: {{who: parent, list: [p1]}}\nresources: [{{apply: [{{child.yaml: {properties}}}]}}]"
    await converge_once(graph=site(parent, **{"child.yaml": CHILD}).graph)
    assert said(tmp_path) == expected


async def test_data_of_one_child_do_not_leak_to_the_next(site, tmp_path):
    parent = """
resources:
  - apply: [{a.yaml: {data: {who: other}}}, {child.yaml: {require: apply#a.yaml}}]
"""
    await converge_once(graph=site(parent, **{"child.yaml": CHILD, "a.yaml": "resources: []"}).graph)
    assert said(tmp_path) == "child [c1]"


async def test_data_of_the_command_line_reach_every_child(site, tmp_path):
    parent = "resources: [{apply: [{child.yaml: {data: {who: prop}}}]}]"
    program = site(parent, data={"who": "cli"}, **{"child.yaml": CHILD})
    await converge_once(graph=program.graph)
    assert said(tmp_path) == "cli [c1]"


async def test_it_is_changed_failed_or_ok_by_its_children(site):
    files = {
        "fails.yaml": "resources: [{exec: [{bad: {command: /bin/false}}, {good: {command: /bin/true}}]}]",
        "ok.yaml": "resources: [{exec: [{guarded: {command: /bin/false, unless: /bin/true}}]}]",
        "changes.yaml": "resources: [{exec: [{changes: {command: /bin/true}}]}]",
    }
    parent = (
        """
resources:
  - apply: [fails.yaml: , ok.yaml: , changes.yaml: ]
""".replace("[fails.yaml: , ok.yaml: , changes.yaml: ]", "[{fails.yaml: }, {ok.yaml: }, {changes.yaml: }]")
        + """
  - exec:
      - gated: {command: /bin/true, require: apply#fails.yaml}
      - across: {command: /bin/true, require: exec#good}
      - told: {command: /bin/true, refreshonly: true, subscribe: apply#changes.yaml}
      - untold: {command: /bin/true, refreshonly: true, subscribe: apply#ok.yaml}
"""
    )
    _, story = await converge_once(graph=site(parent, **files).graph)
    expected = {
        "apply#fails.yaml": Result.FAILED, "apply#ok.yaml": Result.OK, "apply#changes.yaml": Result.CHANGED,
        "exec#gated": Result.BLOCKED, "exec#across": Result.CHANGED, "exec#told": Result.CHANGED, "exec#untold": Result.OK,
    }  # fmt: skip
    assert {ref: story.result(ref) for ref in expected} == expected
    assert story.checks("apply#fails.yaml")[-1].error == "child manifest had 1 failed resources"


async def test_children_wait_for_what_the_apply_requires(site, tmp_path):
    parent = """
resources:
  - apply: [{child.yaml: {require: exec#first}}]
  - exec:
      - first: {command: /bin/false}
"""
    ended, story = await converge_once(graph=site(parent, **{"child.yaml": CHILD}).graph)
    assert story.result("exec#hello") is Result.BLOCKED
    assert story.result("apply#child.yaml") is Result.BLOCKED
    assert not (tmp_path / "said").exists()
    assert ended.counts["failed"] == 1


async def test_a_child_that_fails_and_recovers_takes_its_apply_along(site, tmp_path):
    files = {
        "child.yaml": "resources: [{exec: [{probe: {command: /bin/true, onlyif: /bin/true, creates: '{dir}/no/x'}}]}, {file: [{'{dir}/no/y': {{own}, content: a}}]}]"
    }
    async with running(graph=site("resources: [{apply: [{child.yaml: }]}]", **files).graph) as story:
        await story.until(lambda: story.result("apply#child.yaml") is Result.FAILED)
        (tmp_path / "no").mkdir()
        await story.until(lambda: story.result("apply#child.yaml") is Result.CHANGED)


async def test_when_the_first_failure_ends_a_run_a_child_recovers_all_the_same(site, tmp_path):
    files = {
        "child.yaml": "resources: [{apply: [{inner.yaml: }]}]",
        "inner.yaml": """
resources:
  - file:
      - "{dir}/no/y": {{own}, content: a}
      - "{dir}/z": {{own}, content: a, require: "file#{dir}/no/y"}
""",
    }
    parent = "ccm: {resources: [{apply: [{child.yaml: }]}, {exec: [{'/bin/touch {dir}/last': }]}]}"
    options = RunOptions(watch=True, fail_fast=True)
    async with running(graph=site(parent, **files).graph, options=options) as story:
        await story.until(lambda: story.result("apply#child.yaml") is Result.FAILED)
        assert not (tmp_path / "last").exists()
        (tmp_path / "no").mkdir()
        await story.converged()
    assert (tmp_path / "last").exists()


async def test_what_goes_before_the_failure_that_stops_a_run_is_still_repaired(site, tmp_path):
    manifest = """
ccm:
  fail_on_error: true
  resources:
    - file: [{"{dir}/first": {{own}, content: a}}]
    - exec: [{"/usr/bin/test -e {dir}/go": }]
"""
    options = RunOptions(watch=True, fail_fast=True)
    async with running(graph=site(manifest).graph, options=options) as story:
        await story.until(lambda: story.result(f"exec#/usr/bin/test -e {tmp_path}/go") is Result.FAILED)
        (tmp_path / "first").unlink()
        await story.until((tmp_path / "first").exists)
        (tmp_path / "go").touch()
        await story.converged()


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("noop: true", "{noop: false}"),
        ("meta: {noop: true}", "{meta: {noop: false}}"),
        ("meta: {mode: warn}", "{meta: {mode: enforce}}"),
    ],
)
async def test_noop_is_handed_down_and_never_weakened(site, tmp_path, above, below):
    files = {"mid.yaml": f"resources: [{{apply: [{{child.yaml: {below}}}]}}]", "child.yaml": CHILD}
    parent = f"""
resources:
  - apply: [{{mid.yaml: {{{above}}}}}]
  - exec: [{{told: {{command: /bin/touch {{dir}}/told, refreshonly: true, subscribe: apply#mid.yaml}}}}]
"""
    ended, story = await converge_once(graph=site(parent, **files).graph)
    assert not (tmp_path / "said").exists()
    assert not (tmp_path / "told").exists()
    assert [story.result(ref) for ref in ("exec#hello", "apply#child.yaml", "apply#mid.yaml")] == [
        Result.WOULD_CHANGE
    ] * 3
    assert ended.changes == 0


async def test_a_dry_run_fails_with_one_of_its_resources_though_others_would_change(site):
    broken = "resources: [{exec: [{works: {command: /bin/true}}, {broken: {onlyif: /nowhere}}]}]"
    graph = site("resources: [{apply: [{child.yaml: }]}]", **{"child.yaml": broken}).graph
    _, story = await converge_once(graph=graph, options=RunOptions(noop=True))
    assert story.result("exec#works") is Result.WOULD_CHANGE
    assert story.result("exec#broken") is Result.FAILED
    assert story.result("apply#child.yaml") is Result.FAILED


async def test_a_child_that_may_not_apply_others_and_does_is_refused(site, tmp_path):
    files = {"mid.yaml": "resources: [{apply: [{child.yaml: }]}]", "child.yaml": CHILD}
    graph = site("resources: [{apply: [{mid.yaml: {allow_apply: false}}]}]", **files).graph
    _, story = await converge_once(graph=graph)
    assert story.checks("apply#mid.yaml")[-1].error == "apply resources are denied"
    assert list(graph.resources) == ["apply#mid.yaml"]
    assert not (tmp_path / "said").exists()


async def test_a_child_that_is_not_there_fails_its_apply_alone(site, tmp_path):
    ended, story = await converge_once(
        graph=site("resources: [{apply: [{no.yaml: }]}, {exec: [{a: {command: /bin/true}}]}]").graph
    )
    assert story.checks("apply#no.yaml")[-1].error == f"open {tmp_path}/no.yaml: no such file or directory"
    assert (ended.counts["failed"], ended.counts["changed"]) == (1, 1)


def test_a_manifest_that_applies_itself_is_an_error_that_names_the_chain(site, tmp_path):
    with pytest.raises(ManifestError) as caught:
        site(
            "resources: [{apply: [{a.yaml: }]}]",
            **{
                "a.yaml": "resources: [{apply: [{b.yaml: }]}]",
                "b.yaml": "resources: [{apply: [{a.yaml: }]}]",
            },
        )
    [problem] = caught.value.diagnostics
    names = f"{tmp_path}/a.yaml -> {tmp_path}/b.yaml -> {tmp_path}/a.yaml"
    assert problem.message == f"a manifest applies itself: {names}"
    assert problem.place.file == f"{tmp_path}/b.yaml"


def test_a_child_that_is_a_pipe_is_an_error_and_not_waited_for(site, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ManifestError) as caught:
        site("resources: [{apply: [{pipe.yaml: }]}]")
    [found] = caught.value.diagnostics
    assert found.message == f"can't read the manifest: {tmp_path}/pipe.yaml is not a regular file"
    assert (found.place.line, found.place.column) == (1, 23)


def test_eleven_manifests_deep_is_too_deep(site):
    files = {f"{n}.yaml": f"resources: [{{apply: [{{{n + 1}.yaml: }}]}}]" for n in range(12)}
    with pytest.raises(ManifestError, match="maximum apply depth of 10 exceeded"):
        site("resources: [{apply: [{0.yaml: }]}]", **files)


def test_what_is_wrong_with_a_child_is_reported_with_the_rest_and_at_its_place(site, tmp_path):
    with pytest.raises(ManifestError) as caught:
        site(
            "resources:\n  - apply: [{child.yaml: }]\n  - exec: [{a: {command: 'x', nope: 1}}]",
            **{"child.yaml": "resources:\n  - exec:\n    - b: {comand: x}\n"},
        )
    assert {(p.place.file, p.place.line) for p in caught.value.diagnostics} == {
        (f"{tmp_path}/site.yaml", 3),
        (f"{tmp_path}/child.yaml", 3),
    }


@pytest.mark.parametrize(
    ("properties", "child", "problem"),
    [
        ("", "resources: [{exec: [{b: {command: /bin/true]", "bad YAML"),
        ("", "[{exec: [{b: {command: /bin/true}}]}]", "a manifest is a map"),
        ("", "ccm: {resources_jet_file: missing.jet}", "resources_jet_file"),
        (
            "{data: {x: '{{ Dat.x }}'}}",
            "resources: [{exec: [{b: {command: /bin/true}}]}]",
            "unknown name Dat",
        ),
    ],
)
def test_no_one_misses_what_may_be_in_a_child_that_could_not_be_read(site, properties, child, problem):
    with pytest.raises(ManifestError) as caught:
        site(
            f"resources: [{{apply: [{{child.yaml: {properties}}}]}}, {{exec: [{{a: {{require: exec#b}}}}]}}]",
            **{"child.yaml": child},
        )
    [found] = caught.value.diagnostics
    assert problem in found.message


def test_a_user_who_refers_to_what_no_child_declares_is_reported_so_with_what_is_wrong_in_the_child(site):
    with pytest.raises(ManifestError) as caught:
        site(
            "resources: [{apply: [{child.yaml: }]}, {exec: [{a: {require: exec#b}}]}]",
            **{"child.yaml": "resources: [{exec: [{c: {bogus: 1}}]}]"},
        )
    messages = {found.message for found in caught.value.diagnostics}
    assert messages == {
        "exec has no property 'bogus'",
        "require of exec#a: there is no exec#b in the manifest",
    }


def test_what_is_wrong_with_a_child_that_is_applied_twice_is_reported_once(site):
    with pytest.raises(ManifestError) as caught:
        site(
            "resources: [{apply: [{c.yaml: {data: {a: 1}}}, {c.yaml: {data: {a: 2}}}]}]",
            **{
                "c.yaml": "resources: [{exec: [{'c{{ Data.a }}': {command: '{{ Dat.x }}'}}, {d: {bogus: 1}}]}]"
            },
        )
    messages = [found.message for found in caught.value.diagnostics]
    assert sorted(messages) == [
        "exec has no property 'bogus'",
        "exec#d is declared twice",
        "unknown name Dat",
    ]


def test_a_name_of_a_child_that_is_applied_twice_is_no_mistake_of_the_child(site):
    files = {"c.yaml": "resources: [{exec: [{d: {}}]}]"}
    with pytest.raises(ManifestError) as caught:
        site("resources: [{apply: [{c.yaml: }, {c.yaml: {data: {a: 2}}}]}]", **files)
    [found] = caught.value.diagnostics
    assert (found.message, found.notes) == ("exec#d is declared twice", ())
    assert "its manifest is applied twice" in found.hint


def test_paths_are_relative_to_the_manifest_that_says_them(site, tmp_path):
    files = {
        "sub/child.yaml": "resources: [{apply: [{deeper/leaf.yaml: }]}]",
        "sub/deeper/leaf.yaml": "resources: [{file: [{'{dir}/out': {{own}, source: beside}}]}]",
    }
    program = site("resources: [{apply: [{sub/child.yaml: }]}]", **files)
    assert program.graph.resources[f"file#{tmp_path}/out"].source == f"{tmp_path}/sub/deeper/beside"
    assert f"{tmp_path}/sub/deeper/leaf.yaml" in program.files


def test_names_are_unique_over_all_manifests_of_the_native_form(site):
    with pytest.raises(ManifestError, match="exec#a is declared twice"):
        site(
            "resources: [{exec: [{a: }]}, {apply: [{c.yaml: }]}]",
            **{"c.yaml": "resources: [{exec: [{a: }]}]"},
        )


async def test_in_the_ccm_form_names_may_repeat_and_mean_the_last_one_before(site, tmp_path):
    graph = site("""
ccm:
  resources:
    - exec:
        - a: {command: /bin/false}
        - b: {command: "/bin/touch {dir}/b", require: [exec#a]}
        - a: {command: /bin/true}
        - c: {command: "/bin/touch {dir}/c", require: [exec#a]}
""").graph
    await converge_once(graph=graph)
    assert not (tmp_path / "b").exists()
    assert (tmp_path / "c").exists()
    assert list(graph.resources) == ["exec#a", "exec#b", "exec#a (2)", "exec#c"]


@pytest.mark.parametrize(
    ("parent", "refs"),
    [
        (
            "ccm: {resources: [{exec: [{a: {command: x}}, {a: {command: x}}, {a (2): {command: x}}]}]}",
            ["exec#a", "exec#a (2)", "exec#a (2) (2)"],
        ),
        (
            "ccm: {resources: [{exec: [{a (2): {command: x}}, {a: {command: x}}, {a: {command: x}}]}]}",
            ["exec#a (2)", "exec#a", "exec#a (3)"],
        ),
        (
            "resources: [{exec: [{a: {command: x}}]}, {apply: [{child.yaml: {}}]}]",
            ["exec#a", "apply#child.yaml", "exec#a (2)"],
        ),
    ],
)
def test_a_name_that_repeats_never_takes_what_another_is_called(site, parent, refs):
    child = "ccm: {resources: [{exec: [{a: {command: x}}]}]}"
    assert list(site(parent, **{"child.yaml": child}).graph.resources) == refs


def test_names_that_repeat_may_all_be_wrong(site):
    parent = "ccm: {resources: [{exec: [{a: {command: x}}, {a: {commnd: x}}, {a: {commnd: x}}]}]}"
    with pytest.raises(ManifestError) as caught:
        site(parent)
    assert [found.message for found in caught.value.diagnostics] == ["exec has no property 'commnd'"] * 2


async def test_the_order_of_a_ccm_manifest_includes_its_children(site, tmp_path):
    step = "/bin/sh -c 'echo -n {n} >> {dir}/order'"
    files = {
        "child.yaml": 'ccm: {{resources: [{{exec: [{{c1: {{command: "{}"}}}}, {{c2: {{command: "{}"}}}}]}}]}}'.format(
            step.replace("{n}", "2"), step.replace("{n}", "3")
        )
    }
    parent = 'ccm: {{resources: [{{exec: [{{p1: {{command: "{}"}}}}]}}, {{apply: [{{child.yaml: {{}}}}]}}, {{exec: [{{p2: {{command: "{}"}}}}]}}]}}'.format(
        step.replace("{n}", "1"), step.replace("{n}", "4")
    )
    await converge_once(graph=site(parent, **files).graph)
    assert (tmp_path / "order").read_text() == "1234"


async def test_a_manifest_that_a_resource_makes_is_spliced_in(site, tmp_path):
    text = """
resources:
  - apply: [{made.yaml: }]
  - file: [{'{dir}/made.yaml': {{own}, content: "resources: [{exec: [{'/bin/touch {dir}/spliced': }]}, {file: [{'{dir}/not': {ensure: absent}}]}]"}}]
"""
    program = site(text)
    story = Story(program.graph, RunOptions())

    async def renew():
        story.engine.reload(site(text).graph)
        return True

    story.engine.manifest_follower.renew = renew
    ended = await story.engine.run()
    assert (tmp_path / "spliced").exists()
    assert story.result("apply#made.yaml") is Result.CHANGED
    assert ended.counts["failed"] == 0
    assert not [c for c in story.checks("apply#made.yaml") if c.error]
    assert not story.all(WatcherChanged), "a one-shot run watches nothing, and says nothing of that"


async def test_a_manifest_that_a_resource_makes_and_no_one_can_use_fails_its_apply_alone(site, tmp_path):
    program = site("""
resources:
  - apply: [{made.yaml: }]
  - exec: [{after: {command: /bin/true, require: apply#made.yaml}}, {else: {command: /bin/true}}]
  - file: [{'{dir}/made.yaml': {{own}, content: "resources: 5", after: exec#else}}]
""")  # a change after the failure would let the failed one be checked again
    story = Story(program.graph, RunOptions())
    loads = []

    async def renew():
        loads.append(trio.current_time())
        return False

    story.engine.manifest_follower.renew = renew
    with trio.fail_after(60):
        await story.engine.run()
    assert len(loads) == 1
    [failed] = story.checks("apply#made.yaml")
    assert failed.error == f"{tmp_path}/made.yaml was created by this run, and can't be used"
    assert story.result("exec#after") is Result.BLOCKED
    assert story.result("exec#else") is Result.CHANGED


async def test_a_child_whose_apply_is_not_managed_here_is_left_alone(site, tmp_path):
    parent = "resources: [{apply: [{child.yaml: {control: {if: \"Facts.os == '%s'\"}}}]}]"
    for system, said_it in (("plan9", False), ("linux", True)):
        program = site(parent % system, facts={"os": "linux"}, **{"child.yaml": CHILD})
        _, story = await converge_once(graph=program.graph)
        assert (tmp_path / "said").exists() is said_it
        assert story.result("apply#child.yaml") is (Result.CHANGED if said_it else Result.SKIPPED)


def test_whether_a_child_is_applied_can_not_depend_on_what_is_only_known_later(site):
    with pytest.raises(ManifestError, match="must be known when this one is loaded"):
        site(
            "resources: [{exec: [{/bin/true: }]}, {apply: [{child.yaml: {control: {if: \"output('exec#/bin/true') != nil\"}}}]}]",
            **{"child.yaml": CHILD},
        )


async def test_the_health_of_an_apply_is_looked_at_after_its_children(site):
    parent = "resources: [{apply: [{child.yaml: {health_checks: [{command: test ! -e {dir}/said}]}}]}]"
    _, story = await converge_once(graph=site(parent, **{"child.yaml": CHILD}).graph)
    assert story.result("apply#child.yaml") is Result.FAILED
    assert story.checks("apply#child.yaml")[-1].health
    assert story.result("exec#hello") is Result.CHANGED


@pytest.mark.parametrize("reference", ["require", "subscribe", "after"])
@pytest.mark.parametrize("applied", ["child.yaml", "outer.yaml"])
def test_what_it_stands_for_can_not_go_before_it(site, reference, applied):
    files = {"child.yaml": CHILD, "outer.yaml": "ccm: {resources: [{apply: [{child.yaml: {}}]}]}"}
    with pytest.raises(ManifestError) as caught:
        site(f"resources: [{{apply: [{{{applied}: {{{reference}: [exec#hello]}}}}]}}]", **files)
    (problem,) = caught.value.diagnostics
    assert problem.message == (
        f"apply#{applied} can't wait for exec#hello, which belongs to it ({reference} in apply#{applied})"
    )
    assert os.path.basename(problem.place.file) == "site.yaml"


ENDS_WITH_A_FAILURE = """
ccm:
  fail_on_error: true
  resources:
    - exec:
        - one: {command: "/bin/true", require: ["exec#bad"]}
        - two: {command: "/bin/touch {dir}/two", health_checks: [{command: /bin/false, name: two}]}
        - three: {command: "/bin/true", require: ["exec#bad"]}
    - apply: [{grandchild.yaml: {}}]
    - exec: [{four: {command: "/bin/touch {dir}/four", health_checks: [{command: /bin/false, name: four}]}}]
"""
GRANDCHILD = "ccm: {resources: [{exec: [{inner: {command: '/bin/touch {dir}/inner'}}]}]}"


async def test_in_a_child_that_ends_with_a_failure_what_is_only_blocked_ends_nothing(site, tmp_path):
    parent = "ccm: {resources: [{exec: [{bad: {command: /bin/false}}]}, {apply: [{child.yaml: {}}]}]}"
    program = site(parent, **{"child.yaml": ENDS_WITH_A_FAILURE, "grandchild.yaml": GRANDCHILD})
    _, story = await converge_once(graph=program.graph)
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".yaml"} == {"two"}
    culprits = {event.ref: event.culprits for event in story.events if isinstance(event, Blocked)}
    assert culprits == {
        "exec#one": ("exec#bad",),
        "exec#three": ("exec#bad", "exec#two"),
        "exec#inner": ("exec#two",),
        "apply#grandchild.yaml": ("exec#two",),
        "exec#four": ("exec#two",),
    }
    assert {edge.reason for edge in program.graph.edges if edge.ends} == {
        "the order of the manifest, which a failure ends"
    }
    last = story.checks("apply#child.yaml")[-1]
    assert (last.error, last.hint) == ("child manifest had 2 failed resources", "see exec#one, exec#two")


@pytest.mark.parametrize(
    ("properties", "options"),
    [("{}", RunOptions(monitor_only=True)), ("{health_check_only: true}", RunOptions())],
)
async def test_a_child_of_which_only_the_health_is_looked_at_is_gone_through_to_its_end(
    site, properties, options
):
    parent = f"ccm: {{resources: [{{exec: [{{bad: {{command: /bin/true}}}}]}}, {{apply: [{{child.yaml: {properties}}}]}}]}}"
    program = site(parent, **{"child.yaml": ENDS_WITH_A_FAILURE, "grandchild.yaml": GRANDCHILD})
    _, story = await converge_once(graph=program.graph, options=options)
    assert story.result("exec#two") is Result.FAILED
    assert story.result("exec#inner") is Result.OK
    assert story.result("exec#four") is Result.FAILED
    assert story.checks("apply#child.yaml")[-1].error == "child manifest had 2 failed resources"


async def test_a_child_that_ends_with_its_first_failure_ends_alone(site, tmp_path):
    files = {
        "child.yaml": """
ccm:
  fail_on_error: true
  resources:
    - exec:
        - c1: {command: "/bin/touch {dir}/c1"}
        - c2: {command: /bin/false}
        - not here: {command: /bin/true, control: {if: "false"}}
        - c3: {command: "/bin/touch {dir}/c3"}
"""
    }
    parent = "ccm: {resources: [{apply: [{child.yaml: {}}]}, {exec: [{'/bin/touch {dir}/p': {}}]}]}"
    _, story = await converge_once(graph=site(parent, **files).graph)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".yaml") == ["c1", "p"]
    assert story.checks("apply#child.yaml")[-1].error == "child manifest had 1 failed resources"


FILE = "{{own}, content: x}"
THREE = """
ccm:
  fail_on_error: true
  resources:
    - file: [{"{dir}/first": FILE}, {"{dir}/later/second": FILE}, {"{dir}/third": FILE}]
""".replace("FILE", FILE)
PARENT = 'ccm: {resources: [{apply: [{child.yaml: {}}]}, {file: [{"{dir}/p": FILE}]}]}'.replace("FILE", FILE)


async def test_in_a_run_that_stays_the_first_failure_ends_a_child_until_it_recovers(site, tmp_path):
    names = [f"file#{tmp_path}/{name}" for name in ("first", "later/second", "third", "p")]
    first, second, third, outside = names
    async with running(graph=site(PARENT, **{"child.yaml": THREE}).graph) as story:
        await story.until(lambda: story.result(outside) is Result.CHANGED)
        assert [story.result(name) for name in names[:3]] == [Result.CHANGED, Result.FAILED, Result.BLOCKED]
        (tmp_path / "first").write_text("drift")
        await story.until(lambda: len(story.checks(first)) > 1 and (tmp_path / "first").read_text() == "x")
        assert not story.checks(third), (
            "what comes before the failure is repaired, what comes after is not begun"
        )
        (tmp_path / "later").mkdir()
        await story.converged()
        assert (tmp_path / "third").read_text() == "x"
        (tmp_path / "later/second").unlink()
        (tmp_path / "later").rmdir()
        await story.until(lambda: story.result(second) is Result.FAILED)
        (tmp_path / "third").write_text("drift")
        (tmp_path / "p").write_text("drift")
        await story.until(lambda: (tmp_path / "p").read_text() == "x")
        assert (tmp_path / "third").read_text() == "drift"
        assert story.result("apply#child.yaml") is Result.FAILED
        before = len(story.all(Converged))  # more than one, where the kernel reported our own writes late
        (tmp_path / "later").mkdir()
        await story.converged(before + 1)
        assert (tmp_path / "third").read_text() == "x"


async def test_in_a_run_that_ends_a_child_of_the_ccm_form_is_tried_once_as_by_ccm(site, tmp_path):
    makes = "{resources: [{exec: [{'/bin/mkdir {dir}/later': {}}]}]}"
    parent = "ccm: {resources: [{apply: [{child.yaml: {}}]}, {apply: [{makes.yaml: {}}]}]}"
    program = site(parent, **{"child.yaml": THREE, "makes.yaml": f"ccm: {makes}"})
    _, story = await converge_once(graph=program.graph)
    assert story.result("apply#child.yaml") is Result.FAILED
    assert (tmp_path / "later").is_dir()
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize(
    ("properties", "forced"),
    [
        ("{}", (False, "enforce", False)),
        ("{noop: true}", (True, "enforce", False)),
        ("{meta: {noop: true}}", (True, "enforce", False)),
        ("{meta: {mode: warn}}", (False, "warn", False)),
        ("{health_check_only: true}", (False, "enforce", True)),
        ("{meta: {monitor_only: true}}", (False, "enforce", True)),
    ],
)
def test_what_is_forced_on_a_child_is_not_weakened_by_its_resources(site, properties, forced):
    own = "meta: {noop: false, monitor_only: false}"
    child = f"resources: [{{exec: [{{hello: {{command: /bin/true, {own}}}}}]}}]"
    graph = site(f"resources: [{{apply: [{{child.yaml: {properties}}}]}}]", **{"child.yaml": child}).graph
    (meta,) = [each.meta for each in graph.resources.values() if each.kind == "exec"]
    assert (meta.noop, meta.mode, meta.monitor_only) == forced
