"""A one-shot run changes what it was loaded from: it goes on with the new version, or says that it can't."""

from __future__ import annotations

import contextlib
import os

import pytest
from processes_of_cli import environment, finish, spawned

from reactor.engine.manifest_follower import MOST_VERSIONS

OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644'"


class World:
    """A directory with a manifest, and runs of it."""

    def __init__(self, root, reactor):
        self.root = root
        self._reactor = reactor
        self.manifest = root / "site.yaml"
        self.state = root / "state"

    def write(self, name, text):
        path = self.root / name
        path.write_text(text.replace("{dir}", str(self.root)).replace("{own}", OWN))
        return path

    def run(self, *options, text=True):
        form = () if text else ("--format", "json")
        with contextlib.chdir(self.root):
            return self._reactor(
                "run", "--converge-once", *form, "--state-dir", self.state, *options, self.manifest
            )

    def events(self, *options):
        done = self.run(*options, text=False)
        return done, done.records

    def said(self, name):
        path = self.root / name
        return path.read_text() if path.exists() else None


@pytest.fixture
def world(tmp_path, reactor):
    return World(tmp_path, reactor)


CHILD = "resources:\n  - file:\n      - {dir}/made: { ensure: present, content: %s, {own} }\n"

WRITES_CHILD = """
resources:
  - file:
      - {dir}/child.yaml:
          ensure: present
          {owners}
          content: |
            resources:
              - file:
                  - {dir}/made: { ensure: present, content: new, {own} }
  - apply:
      - child.yaml: {}
""".replace("{owners}", OWN.replace(", ", "\n          "))


def test_a_child_manifest_that_the_run_writes_is_applied_in_its_new_version_only(world):
    world.write("child.yaml", CHILD % "old")
    world.write("site.yaml", WRITES_CHILD)
    done, events = world.events()
    assert done.code == 0, done.err
    assert world.said("made") == "new"
    changed = [each for each in events if each.get("result") == "changed" and "made" in each["ref"]]
    assert len(changed) == 1  # the former version was never applied
    assert events[-1]["counts"]["changed"] == 3  # the child, what it declares, and what stands for that
    again, events = world.events()
    assert again.code == 0
    assert events[-1]["changes"] == 0


def test_a_run_that_watches_applies_no_former_version_either(world):
    world.write("child.yaml", CHILD % "old")
    world.write("site.yaml", WRITES_CHILD)
    with spawned(
        "run", "--format", "json", "--converged-timeout", "0.3", "--state-dir", world.state, world.manifest,
        env=environment(),
    ) as process:  # fmt: skip
        done = finish(process)
    events = done.records
    changed = [each for each in events if each.get("result") == "changed" and "made" in each["ref"]]
    assert done.code == 0
    assert len(changed) == 1
    assert world.said("made") == "new"


def test_a_command_that_writes_a_child_manifest_has_it_followed(world):
    """Nobody declares what a command writes, so the former version goes first."""
    world.write("child.yaml", CHILD % "old")
    world.write("new.yaml", CHILD % "new")
    world.write(
        "site.yaml",
        "resources:\n"
        "  - apply: [{child.yaml: {}}]\n"
        "  - exec: [{write: {command: cp {dir}/new.yaml {dir}/child.yaml, unless: cmp {dir}/new.yaml {dir}/child.yaml}}]\n",
    )
    done = world.run()
    assert done.code == 0, done.err + done.out
    assert world.said("made") == "new"
    assert "reloaded" in done.out


def test_a_data_file_that_the_run_writes_is_followed(world):
    world.write("site.json", '{"word": "old"}')
    world.write("hiera.yaml", "data: {word: old}\n")
    world.write(
        "site.yaml",
        "resources:\n"
        "  - exec: [{write: {command: sed -i s/old/new/ hiera.yaml, cwd: {dir}, onlyif: grep -q old {dir}/hiera.yaml}}]\n"
        "  - file: [{{dir}/made: {ensure: present, content: '{{ Data.word }}', {own}}}]\n",
    )
    done = world.run("--hiera", world.root / "hiera.yaml")
    assert done.code == 0, done.err + done.out
    assert world.said("made") == "new"


@pytest.mark.parametrize("reads", ["source: {dir}/word", "content: \"{{ file('word') }}\""])
def test_a_file_whose_source_a_later_command_writes_gets_that(world, reads):
    world.write("word", "old")
    world.write(
        "site.yaml",
        "settings: {ordering: manifest}\n"
        f"resources:\n  - file: [{{{{dir}}/made: {{ensure: present, {reads}, {{own}}}}}}]\n"
        "  - exec: [{write: {command: sed -i s/old/new/ {dir}/word, onlyif: grep -q old {dir}/word}}]\n",
    )
    done = world.run()
    assert done.code == 0, done.err + done.out
    assert world.said("made") == "new"


@pytest.mark.parametrize("name", ["t/a", "t/sub/_partials/p"])
def test_a_scaffold_whose_template_a_later_command_writes_gets_that(world, name):
    (world.root / "t/sub/_partials").mkdir(parents=True)
    world.write("t/sub/_partials/p", "old")
    world.write("t/a", "old {{ render('sub/_partials/p', {}) }}")
    world.write(
        "site.yaml",
        "settings: {ordering: manifest}\n"
        "resources:\n  - scaffold: [{{dir}/made: {ensure: present, source: t}}]\n"
        f"  - exec: [{{write: {{command: sed -i s/old/new/ {{dir}}/{name}, onlyif: grep -q old {{dir}}/{name}}}}}]\n",
    )
    done = world.run()
    assert done.code == 0, done.err + done.out
    assert "new" in world.said("made/a")


def test_a_scaffold_goes_after_the_resources_that_make_its_templates(world):
    (world.root / "t").mkdir()
    world.write(
        "site.yaml",
        "resources:\n  - scaffold: [{{dir}/made: {ensure: present, source: t}}]\n"
        "  - file: [{{dir}/t/a: {ensure: present, content: new, {own}}}]\n",
    )
    done, events = world.events()
    assert done.code == 0, done.err + done.out
    assert world.said("made/a") == "new"
    assert sum(each.get("ref", "").startswith("scaffold#") for each in events) == 1


def test_a_run_never_executes_a_command_twice_because_of_another_look(world):
    world.write("word", "old")
    world.write(
        "site.yaml",
        "settings: {ordering: manifest}\n"
        "resources:\n  - exec: [{count: {command: \"sh -c 'echo {{ file('word') | trim() }} >>{dir}/count'\"}}]\n"
        "  - exec: [{write: {command: touch {dir}/word}}]\n",
    )
    done = world.run()
    assert done.code == 0, done.err + done.out
    assert world.said("count") == "old\n"


def test_a_manifest_that_rewrites_itself_once_is_followed_and_the_run_ends(world):
    world.write(
        "site.yaml",
        "resources:\n"
        "  - exec: [{write: {command: 'sed -i s/wor[d]/term/ {dir}/site.yaml', onlyif: 'grep -q wor[d] {dir}/site.yaml'}}]\n"
        "  - file: [{{dir}/made: {ensure: present, content: word, {own}}}]\n",
    )
    done = world.run()
    assert done.code == 0, done.err + done.out
    assert world.said("made") == "term"


def test_a_manifest_that_keeps_rewriting_itself_ends_with_an_error(world):
    world.write("count", "x")
    world.write(
        "site.yaml",
        'resources:\n  - exec: [{"write {{ file(\'count\') }}": {command: "sed -i s/^/x/ {dir}/count"}}]\n',
    )
    done = world.run()
    assert done.code == 1
    assert f"the manifest has changed itself more than {MOST_VERSIONS} times in this run" in done.out
    assert len(world.said("count")) == MOST_VERSIONS + 2


def test_a_version_that_cannot_be_used_fails_what_wrote_it_and_nothing_of_the_former_is_applied(world):
    world.write("child.yaml", CHILD % "old")
    world.write("site.yaml", WRITES_CHILD.replace("content: new", "contents: new"))
    done = world.run()
    assert done.code == 1
    assert "the manifest was changed by this run and can't be used" in done.out
    assert "contents" in done.err
    assert world.said("made") is None
    assert "Traceback" not in done.err


def test_a_version_that_a_command_wrote_and_cannot_be_used_costs_the_exit_code(world):
    world.write("child.yaml", CHILD % "old")
    world.write(
        "site.yaml",
        "resources:\n  - apply: [{child.yaml: {}}]\n"
        "  - exec: [{spoil: {command: \"sed -i 's/^res/rse/' {dir}/child.yaml\"}}]\n",
    )
    done, events = world.events()
    assert done.code == 1
    assert events[-1]["outdated"] == [str(world.root / "child.yaml")]
    assert events[-1]["counts"]["failed"] == 0


def test_two_files_that_only_fit_together_end_well(world):
    """The first alone gives a version of no use; with the second, both are as good as written at once."""
    world.write("child.yaml", CHILD % "old")
    world.write("hiera.yaml", "data: {}\n")
    child = CHILD % "'{{ Data.word ?? \"old\" }}'"
    indented = "".join(f"            {line}\n" for line in child.splitlines())
    world.write(
        "site.yaml",
        "resources:\n"
        "  - file:\n"
        f"      - {{dir}}/child.yaml:\n          {OWN.replace(', ', chr(10) + ' ' * 10)}\n"
        f"          ensure: present\n          content: !!str |\n{indented}"
        '      - {dir}/hiera.yaml: {ensure: present, content: "data: {word: new}\\n", {own}}\n'
        "  - apply: [{child.yaml: {require: 'file#{dir}/hiera.yaml'}}]\n",
    )  # fmt: skip
    done = world.run("--jobs", "1", "--hiera", world.root / "hiera.yaml")
    assert done.code == 0, done.err + done.out
    assert world.said("made") == "new"


def test_noop_says_that_it_cannot_know_the_next_version(world):
    world.write("child.yaml", CHILD % "old")
    world.write("site.yaml", WRITES_CHILD)
    done = world.run("--noop")
    assert "what its new version says is not known yet" in done.out
    assert world.said("made") is None
    assert world.said("child.yaml") == (CHILD % "old").replace("{dir}", str(world.root)).replace("{own}", OWN)


def test_only_a_part_is_followed_too(world):
    world.write("child.yaml", CHILD % "old")
    world.write("site.yaml", WRITES_CHILD)
    done = world.run("--only", f"file#{world.root}/made")
    assert done.code == 0, done.err + done.out
    assert world.said("made") == "new"


def test_a_run_that_changes_none_of_its_files_loads_nothing_again(world):
    world.write("child.yaml", CHILD % "old")
    world.write("site.yaml", "resources:\n  - apply: [{child.yaml: {}}]\n")
    done, events = world.events()
    assert done.code == 0
    assert world.said("made") == "old"
    assert "reloaded" not in {each["event"] for each in events}


MAKES_CHILD = """
resources:
  - exec:
      - make: {provider: shell, command: "sleep 0.2; cp {dir}/later.yaml {dir}/child.yaml"}
  - apply: [{child.yaml: {}}]
"""
LATER = "resources: [{file: [{'{dir}/inner': {ensure: present, content: x, {own}}}]}]"


@pytest.mark.parametrize("how", ["require", "subscribe", "after"])
def test_what_a_child_has_may_be_referred_to_before_the_run_makes_it(world, how):
    world.write("later.yaml", LATER)
    copy = "  - exec: [{copy: {command: /bin/cp {dir}/inner {dir}/copy, HOW: 'file#{dir}/inner'}}]\n"
    world.write("site.yaml", MAKES_CHILD + copy.replace("HOW", how))
    done = world.run()
    assert (done.code, done.err) == (0, "")
    assert world.said("copy") == "x"


def test_an_output_may_be_taken_from_it(world):
    world.write("later.yaml", LATER)
    takes = "  - exec: [{takes: {command: \"/bin/cp {{ output('file#{dir}/inner').path }} {dir}/copy\"}}]\n"
    world.write("site.yaml", MAKES_CHILD + takes)
    done = world.run()
    assert (done.code, done.err) == (0, "")
    assert world.said("copy") == "x"


def test_what_the_child_does_not_have_after_all_is_a_problem_then(world):
    world.write("later.yaml", LATER)
    world.write(
        "site.yaml",
        MAKES_CHILD + "  - exec: [{x: {command: /bin/touch {dir}/ran, require: 'file#{dir}/iner'}}]\n",
    )
    done = world.run()
    assert done.code == 1
    assert f"there is no file#{world.root}/iner in the manifest" in done.err
    assert f"did you mean 'file#{world.root}/inner'?" in done.err
    assert world.said("ran") is None


def test_what_refers_to_a_child_that_no_one_makes_is_blocked_by_its_apply(world):
    world.write(
        "site.yaml",
        "resources: [{apply: [{child.yaml: {}}]}, {exec: [{x: {command: /bin/touch {dir}/ran, require: 'file#y'}}]}]",
    )
    done, events = world.events()
    assert done.code == 1
    [blocked] = [each for each in events if each["event"] == "blocked"]
    assert (blocked["ref"], blocked["culprits"]) == ("exec#x", ["apply#child.yaml"])
    assert world.said("ran") is None


def test_what_makes_the_child_can_not_wait_for_what_is_in_it(world):
    text = "resources: [{apply: [{child.yaml: {}}]}, {file: [{'{dir}/child.yaml': {ensure: present, content: x, {own}, require: 'file#y'}}]}]"
    world.write("site.yaml", text)
    done = world.run()
    assert done.code == 2
    assert "there is no file#y in the manifest" in done.err


def test_without_a_missing_child_a_name_that_is_not_there_is_a_problem_at_once(world):
    world.write("child.yaml", LATER)
    world.write(
        "site.yaml",
        "resources: [{apply: [{child.yaml: {}}]}, {exec: [{x: {command: /bin/true, require: 'file#y'}}]}]",
    )
    assert world.run().code == 2
