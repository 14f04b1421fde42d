"""Several manifests, and directories of them, as one run; and parts of one that are looked at alone."""

from __future__ import annotations

import json
import os
import signal
from functools import partial

import pytest
from files_of_cli import put
from processes_of_cli import finish, next_event, spawned

FILES = "resources:\n  - file:\n      - defaults: {{ensure: present, {own}}}\n"
OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644'"


def files(*entries):
    return FILES.format(own=OWN) + "".join(f"      - {entry}\n" for entry in entries)


@pytest.fixture
def parts(tmp_path):
    """A directory of two manifests, of which the first needs the second."""
    directory = tmp_path / "reactor.d"
    directory.mkdir()
    directory.joinpath("10-web.yaml").write_text(
        "data: {greeting: hello}\n"
        + files(f"{tmp_path}/web: {{content: '{{{{ Data.greeting }}}}', require: 'file#{tmp_path}/base'}}")
    )
    directory.joinpath("20-base.yml").write_text(files(f"{tmp_path}/base: {{content: base}}"))
    return directory


def checked(out):
    events = [json.loads(line) for line in out.splitlines()]
    return [event["ref"] for event in events if event["event"] == "checked"]


def test_a_resource_may_require_one_of_another_manifest(reactor, parts, tmp_path):
    done = reactor("run", "--converge-once", "--format", "json", *sorted(parts.iterdir()))
    assert done.code == 0, done.err
    assert checked(done.out) == [f"file#{tmp_path}/base", f"file#{tmp_path}/web"]
    assert (tmp_path / "web").read_text() == "hello"


def test_a_directory_is_all_manifests_in_it_and_nothing_else(reactor, parts, tmp_path):
    parts.joinpath("30-more.yaml.bak").write_text("not: a manifest")
    parts.joinpath(".30-more.yaml").write_text("not: a manifest")
    parts.joinpath("40-below.yaml").mkdir()
    done = reactor("run", "--converge-once", "--format", "json", parts)
    assert done.code == 0, done.err
    assert checked(done.out) == [f"file#{tmp_path}/base", f"file#{tmp_path}/web"]


def test_each_manifest_sees_its_own_data_only(reactor, manifest, tmp_path):
    one = manifest("data: {own: one}\n" + files(f"{tmp_path}/a: {{content: '{{{{ Data.own }}}}'}}"), "a.yaml")
    two = manifest("data: {own: two}\n" + files(f"{tmp_path}/b: {{content: '{{{{ Data.own }}}}'}}"), "b.yaml")
    assert reactor("run", "--converge-once", one, two).code == 0
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("one", "two")


def test_a_manifest_that_is_named_twice_counts_once(reactor, parts, tmp_path):
    done = reactor("run", "--converge-once", "--format", "json", parts, parts / "20-base.yml")
    assert done.code == 0, done.err
    assert checked(done.out) == [f"file#{tmp_path}/base", f"file#{tmp_path}/web"]


CCM = "ccm:\n  resources:\n    - file:\n        - {dir}/base: {{content: x, ensure: present, {own}}}\n"


@pytest.mark.parametrize("form", ["native", "ccm"])
def test_a_resource_of_two_manifests_is_reported_with_both_places_and_nothing_runs(
    reactor, parts, tmp_path, form
):
    again = files(f"{tmp_path}/base: {{content: other}}")
    parts.joinpath("30-again.yaml").write_text(
        again if form == "native" else CCM.format(dir=tmp_path, own=OWN)
    )
    done = reactor("run", "--converge-once", parts)
    assert done.code == 2
    at = "30-again.yaml:4:9" if form == "native" else "30-again.yaml:4:11"
    assert f"{parts}/{at}: error[R0201]: file#{tmp_path}/base is declared twice" in done.err
    assert f"{parts}/20-base.yml:4:9" in done.err
    assert not (tmp_path / "base").exists()


def test_two_kinds_that_want_one_path_otherwise_are_reported_with_both_places(reactor, parts, tmp_path):
    parts.joinpath("30-gone.yaml").write_text(
        f"resources:\n  - scaffold:\n      - {tmp_path}/base: {{ensure: absent, source: {parts}}}\n"
    )
    done = reactor("validate", parts)
    assert done.code == 2
    assert f"{parts}/30-gone.yaml:3:" in done.err
    assert f"{parts}/20-base.yml:3:" in done.err


def test_all_problems_of_all_manifests_are_reported_at_once(reactor, parts, tmp_path):
    parts.joinpath("30-bad.yaml").write_text(files(f"{tmp_path}/c: {{content: x, ensur: present}}"))
    parts.joinpath("20-base.yml").write_text(files(f"{tmp_path}/base: {{content: base, mod: '0644'}}"))
    done = reactor("run", "--converge-once", parts)
    assert done.code == 2
    assert f"{parts}/20-base.yml:4:" in done.err
    assert f"{parts}/30-bad.yaml:4:" in done.err


def test_a_directory_without_a_manifest_is_refused(reactor, tmp_path):
    done = reactor("run", tmp_path)
    assert done.code == 2
    assert done.err.startswith(
        f"error[R0101]: there is no manifest in {tmp_path}\nhint: the name of a manifest ends with"
    )


def test_a_directory_that_others_may_write_to_is_not_trusted(reactor, parts):
    parts.chmod(0o777)
    done = reactor("run", "--converge-once", parts)
    assert done.code == 2
    assert f"the manifests in {parts} can't be trusted" in done.err


def test_settings_of_several_are_the_strictest(reactor, manifest, tmp_path):
    """The first fails, and the second, which knows nothing of that, does not run any more."""
    stops = "settings: {fail_fast: true}\nresources:\n  - exec:\n      - /bin/false: {}\n"
    goes_on = (
        "resources:\n  - exec:\n      - /bin/touch "
        + str(tmp_path / "x")
        + ": {require: 'exec#/bin/true'}\n      - /bin/true: {}\n"
    )
    one, two = manifest(stops, "a.yaml"), manifest("settings: {jobs: 1}\n" + goes_on, "b.yaml")
    assert reactor("run", "--converge-once", one, two).code == 1
    assert not (tmp_path / "x").exists()


@pytest.fixture
def follow(parts):
    """Yields the directory and a way to wait for the next event of a kind of a converger that runs on it."""
    with spawned("run", "--format", "json", parts) as process:
        heard = partial(next_event, process)
        heard("converged")
        yield heard
        process.send_signal(signal.SIGTERM)
        finish(process)


def test_a_manifest_that_is_added_to_the_directory_is_in_force_at_once(follow, parts, tmp_path):
    put(parts / "30-new.yaml", files(f"{tmp_path}/new: {{content: new}}"))
    event = follow("reloaded")
    assert (event["kept"], event["added"], event["gone"]) == (2, [f"file#{tmp_path}/new"], [])
    follow("converged")
    assert (tmp_path / "new").read_text() == "new"


def test_a_manifest_that_is_removed_from_the_directory_takes_its_resources_with_it(follow, parts, tmp_path):
    (parts / "10-web.yaml").unlink()
    event = follow("reloaded")
    assert (event["kept"], event["gone"]) == (1, [f"file#{tmp_path}/web"])


def test_an_edit_of_any_of_them_is_in_force_at_once(follow, parts, tmp_path):
    put(parts / "20-base.yml", files(f"{tmp_path}/base: {{content: changed}}"))
    assert follow("reloaded")["changed"] == [f"file#{tmp_path}/base"]
    follow("converged")
    assert (tmp_path / "base").read_text() == "changed"


def test_a_conflict_that_comes_is_rejected_and_its_end_is_noticed(follow, parts, tmp_path):
    put(parts / "30-again.yaml", files(f"{tmp_path}/base: {{content: other}}"))
    assert "declared twice" in follow("reloadrejected")["problems"][0]
    (parts / "30-again.yaml").unlink()
    put(parts / "40-new.yaml", files(f"{tmp_path}/new: {{content: new}}"))
    while (event := follow("reloaded"))["added"] != [f"file#{tmp_path}/new"]:
        assert event["added"] == []
    assert (tmp_path / "base").read_text() == "base"


def test_other_files_in_the_directory_do_not_lead_to_a_reload(follow, parts, tmp_path):
    put(parts / ".swap", "an editor")
    (parts / "notes.txt").write_text("notes")
    put(parts / "30-new.yaml", files(f"{tmp_path}/new: {{content: new}}"))
    assert follow("reloaded")["added"] == [f"file#{tmp_path}/new"]


def test_an_emptied_directory_changes_nothing(follow, parts, tmp_path):
    for path in parts.iterdir():
        path.rename(path.with_suffix(".off"))
    while "there is no manifest in" not in follow("reloadrejected")["problems"][0]:
        pass  # one of them is still there
    assert (tmp_path / "base").read_text() == "base"


def test_validate_takes_each_by_itself_unless_they_are_together(reactor, parts, tmp_path):
    web, base = sorted(parts.iterdir())
    alone = reactor("validate", web, base)
    assert (alone.code, alone.out) == (2, f"{base}: ok, 1 resource\n")
    assert f"there is no file#{tmp_path}/base in the manifest" in alone.err
    assert (
        "note: if another manifest declares it, validate them with --together, or accept its name with --external"
        in alone.err
    )
    together = reactor("validate", "--together", web, base)
    assert (together.code, together.out) == (0, f"{web} {base}: ok, 2 resources\n")
    web_twice = reactor("validate", "--together", web, web)
    assert "--together" not in web_twice.err
    assert reactor("validate", parts).out == f"{parts}: ok, 2 resources\n"


@pytest.mark.parametrize("external", ["file#{}/base", "file#*"])
def test_a_part_is_valid_alone_when_what_it_refers_to_is_external(reactor, parts, tmp_path, external):
    web = parts / "10-web.yaml"
    external = external.format(tmp_path)
    assert reactor("validate", web, "--external", external).out == f"{web}: ok, 1 resource\n"
    assert reactor("render", web, "--external", external).code == 0
    assert reactor("graph", web, "--external", external).code == 0
    other = reactor("validate", web, "--external", "service#*")
    assert other.code == 2
    assert f"there is no file#{tmp_path}/base" in other.err


def test_an_output_of_something_external_is_no_error(reactor, manifest, tmp_path):
    path = manifest(files(f"{tmp_path}/a: {{content: '{{{{ output(\"exec#/bin/id\").stdout }}}}'}}"))
    assert reactor("validate", path).code == 2
    assert reactor("validate", path, "--external", "exec#/bin/id").code == 0


def test_an_external_that_names_no_resource_is_refused(reactor, manifest):
    done = reactor("validate", manifest(files()), "--external", "app")
    assert done.code == 2
    assert "'app' names no resource" in done.err


def test_several_are_rendered_one_after_the_other(reactor, parts):
    done = reactor("render", "--format", "json", parts)
    assert [[*part] for part in json.loads(done.out)] == [["data", "resources"], ["resources"]]
    assert reactor("render", parts).out.count("---\n") == 2


def test_graph_shows_several_as_one(reactor, parts, tmp_path):
    graph = json.loads(reactor("graph", "--format", "json", parts).out)
    assert len(graph["nodes"]) == 2


def test_the_unit_of_a_service_runs_all_of_them(reactor, parts):
    web, base = sorted(parts.iterdir())
    text = reactor("service", "install", "--dry-run", web, base, "--", "--jobs", "2").out
    assert f"-m reactor run {web} {base} --jobs 2\n" in text
    text = reactor("service", "install", "--dry-run", parts).out
    assert f"-m reactor run {parts}\n" in text
    assert f"WorkingDirectory={parts}\n" in text
    late = reactor("service", "install", "--dry-run", parts, "--", "--jobs", "2", base)
    assert (late.code, "write all manifests before it" in late.err) == (2, True)
