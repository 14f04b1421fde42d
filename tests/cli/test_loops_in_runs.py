"""A run expands loops over outputs of other resources, and follows these."""

import json
import os
import signal

import pytest
import yaml
from files_of_cli import put
from processes_of_cli import finish, spawned

OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
MANIFEST = """
resources:
  - file:
      - defaults: {{own}}
      - {dir}/names: {content: "{names}"}
      - "{dir}/{{ item }}": {for_each: "{{ fromJSON(output('exec#list').stdout) }}", content: "{{ item }}"}
  - exec:
      - list: {command: "/bin/cat {dir}/names", subscribe: "file#{dir}/names"}
      - report: {command: "/bin/sh -c 'ls {dir}/user-* > {dir}/report'", refreshonly: true, subscribe: "file#{dir}/user-*"}
"""


@pytest.fixture
def site(tmp_path):
    """Write the manifest for these names, and return its path."""

    def site(*names, before=MANIFEST):
        listed = json.dumps([*names]).replace('"', '\\"')
        text = before.replace("{own}", OWN).replace("{dir}", str(tmp_path)).replace("{names}", listed)
        put(path := tmp_path / "site.yaml", text)
        return path

    return site


@pytest.fixture
def run(reactor):
    def call(path, *options):
        return reactor("run", "--converge-once", "--state-dir", path.parent / "state", *options, path)

    return call


def files(root):
    return sorted(each.name for each in root.iterdir() if each.name.startswith("user-"))


def test_a_run_makes_what_the_command_names_and_what_subscribes_to_all_of_it_is_refreshed_once(
    site, tmp_path, run
):
    done = run(site("user-a", "user-b"))
    assert done.code == 0, done.err
    assert files(tmp_path) == ["user-a", "user-b"]
    assert (tmp_path / "report").read_text().split() == [f"{tmp_path}/user-a", f"{tmp_path}/user-b"]
    assert done.out.count("exec#report") == 1
    assert "for_each" not in [line.split("#")[0] for line in done.out.splitlines()]


def test_a_dry_run_says_that_the_elements_are_not_known(site, tmp_path, run):
    path = site("user-a")
    done = run(path, "--noop")
    loop = f"for_each#file#{tmp_path}/{{{{ item }}}}"
    assert (
        f"{loop}  would change  Can't tell before exec#list is applied (the elements of the loop are unknown"
        in done.out
    )
    assert "user-a" not in done.out.replace(str(path), "")
    assert run(path).code == 0
    assert "Can't tell before exec#list" in run(path, "--noop").out


def test_render_shows_the_loop_as_written_and_says_what_it_waits_for(site, reactor, tmp_path):
    done = reactor("render", site("user-a"))
    assert f"{tmp_path}/site.yaml:6:" in done.err
    assert "the elements of the loop are unknown until exec#list has run" in done.err
    loop = yaml.safe_load(done.out)["resources"][1]["file"]
    assert loop["name"] == f"{tmp_path}/{{{{ item }}}}"
    assert (loop["content"], loop["mode"]) == ("{{ item }}", "0644")
    put(again := tmp_path / "again.yaml", done.out)
    assert reactor("render", again).out == done.out


def test_a_selection_of_what_the_loop_may_make_selects_the_loop_until_that_is_known(site, tmp_path, run):
    done = run(site("user-a", "user-b"), "--only", f"file#{tmp_path}/user-a")
    assert done.code == 0, done.err
    assert files(tmp_path) == ["user-a"]


def test_a_run_that_stays_swaps_exactly_what_came_and_went_and_refuses_what_is_wrong(site, tmp_path):
    path = site("user-a", "user-b")
    with spawned("run", "--format", "json", "--state-dir", tmp_path / "state", path) as process:

        def until(kind, **wanted):
            seen = []
            for line in process.stdout:
                event = json.loads(line)
                seen.append(event)
                if event["event"] == kind and all(event.get(key) == value for key, value in wanted.items()):
                    return seen
            raise AssertionError(f"ended without {kind}")

        loop = f"for_each#file#{tmp_path}/{{{{ item }}}}"
        until("converged")
        site("user-b", "user-c", "user-d")
        seen = until("reloaded") + until("converged")
        swap = [each for each in seen if each["event"] == "reloaded"][-1]
        assert (swap["changed"], swap["added"], swap["gone"]) == (
            [loop], [f"file#{tmp_path}/user-c", f"file#{tmp_path}/user-d"], [f"file#{tmp_path}/user-a"],
        )  # fmt: skip
        checked = {each["ref"] for each in seen if each["event"] == "checked"}
        assert f"file#{tmp_path}/user-b" not in checked, "it was not touched"
        assert files(tmp_path) == ["user-a", "user-b", "user-c", "user-d"], "what left is let go"
        site("user-b", "../names", "names")
        until("checked", ref=loop, result="failed")
        (tmp_path / "user-b").write_text("drift")
        until("checked", ref=f"file#{tmp_path}/user-b", result="changed")
        assert (tmp_path / "user-b").read_text() == "user-b", "the last valid version is in force"
        site("user-b")
        until("reloaded", gone=[f"file#{tmp_path}/user-c", f"file#{tmp_path}/user-d"])
        until("converged")
        assert json.loads((tmp_path / "names").read_text()) == ["user-b"], (
            "the manifest is not refused any more"
        )
        process.send_signal(signal.SIGTERM)
        assert "is declared twice" in finish(process).err


UNDONE = """
resources:
  - exec:
      - list: {command: "/bin/cat {dir}/names"}
  - file:
      - "{dir}/{{ item }}":
          {for_each: "{{ fromJSON(output('exec#list').stdout) }}", content: "{{ item }}", meta: {reverse: true}, {own}}
"""


def test_what_a_loop_has_made_is_undone_when_it_is_known_to_be_gone(site, tmp_path, run):
    path, names = site(before=UNDONE), tmp_path / "names"
    put(names, '["user-a", "user-b"]')
    assert run(path).code == 0
    for text, left in [('["user-a", "user-b"]', 2), ("no list", 2), ('["user-b"]', 1)]:
        put(names, text)
        inode = (tmp_path / "user-b").stat().st_ino
        done = run(path)
        assert done.code == (1 if text == "no list" else 0)
        assert len(files(tmp_path)) == left
        assert (tmp_path / "user-b").stat().st_ino == inode, "it stayed all the time"
    put(path, "resources: []")
    assert run(path).code == 0
    assert files(tmp_path) == []


def test_what_was_as_desired_from_the_start_is_remembered_while_the_loop_is_unknown(site, tmp_path, run):
    path = site(before=UNDONE)
    put(tmp_path / "names", '["user-a"]')
    put(tmp_path / "user-a", "user-a")
    (tmp_path / "user-a").chmod(0o644)
    assert run(path).code == 0
    put(tmp_path / "user-a", "drift")
    assert run(path).code == 0
    put(path, "resources: []")
    assert run(path).code == 0
    assert (tmp_path / "user-a").read_text() == "user-a", "the drift is not what was there before"


LATE = """
resources:
  - exec:
      - list: {command: "/bin/cat {dir}/names"}
      - "restart {{ item }}":
          for_each: "{{ fromJSON(output('exec#list').stdout) }}"
          command: "/bin/sh -c 'test -e {dir}/able && echo {{ item }} >> {dir}/log'"
          refreshonly: true
          subscribe: [{references}]
  - file:
      - {dir}/conf: {content: "{names}", {own}}
"""


@pytest.mark.parametrize(
    "references", ["'file#{dir}/conf'", "'file#*'", "{'file#{dir}/conf': {quiet: {for: 5ms}}}"]
)
@pytest.mark.parametrize("broken", ["list", "restart"])
def test_a_refresh_of_what_a_loop_makes_is_not_lost(site, tmp_path, references, broken, run):
    manifest = LATE.replace("{references}", references)
    put(tmp_path / "names", '["a", "b"]' if broken == "restart" else "no list")
    assert run(site("changed", before=manifest)).code == 1
    put(tmp_path / "names", '["a", "b"]')
    put(tmp_path / "able", "")
    for _ in range(2):
        assert run(site("changed", before=manifest)).code == 0
        assert sorted((tmp_path / "log").read_text().split()) == ["a", "b"]


def test_what_changed_before_a_loop_was_known_refreshes_what_it_makes_at_once(site, tmp_path, run):
    manifest = LATE.replace("{references}", "'file#{dir}/conf'")
    put(tmp_path / "names", '["a"]')
    put(tmp_path / "able", "")
    for content in ("one", "two", "two"):
        assert run(site(content, before=manifest)).code == 0
    assert (tmp_path / "log").read_text().split() == ["a", "a"]


def test_what_waits_for_a_loop_may_be_what_that_subscribes_to(site, tmp_path, run):
    manifest = LATE.replace("{references}", "'file#{dir}/conf'").replace(
        '{names}"', '{names}", after: "exec#restart*"'
    )
    put(tmp_path / "names", "[]")
    assert run(site("one", before=manifest)).code == 0


def test_drift_of_what_a_loop_makes_is_drift_in_the_next_run(site, tmp_path, run):
    path = site(before=UNDONE)
    put(tmp_path / "names", '["user-a"]')
    assert run(path).code == 0
    put(tmp_path / "user-a", "drift")
    done = run(path, "--format", "json")
    checked = [json.loads(line) for line in done.out.splitlines() if '"checked"' in line]
    assert [each["causes"] for each in checked if "user-a" in each["ref"]] == [["drift"]]


COLLIDING = """
resources:
  - exec:
      - list: {command: "/bin/cat {dir}/names"}
      - slow: {command: "/bin/sleep 0.3"}
  - file:
      - "{dir}/user-a": {content: static, {own}}
      - "{dir}/{{ item }}":
          {for_each: "{{ fromJSON(output('exec#list').stdout) }}", content: x, meta: {retry: 2, delay: 1ms}, {own}}
"""


def test_elements_that_make_the_manifest_invalid_are_the_error_of_each_retry(site, tmp_path, run):
    put(tmp_path / "names", '["user-a"]')
    done = run(site(before=COLLIDING))
    assert done.code == 1
    assert "for_each must be a list" not in done.out
    assert "is declared twice" in done.out + done.err
