"""``reactor restore``: what a file held before comes back, with owner and mode."""

import fcntl
import json
import os
import re
import time

import pytest
import trio
from files_of_cli import written

from reactor.backup.store import Store
from reactor.resource.backup_store import backup_store
from reactor.resource.registry import find_kind

OWNERS = {"owner": str(os.getuid()), "group": str(os.getgid())}


def converge(store, path, **properties):
    """Let the file kind change the world as in a run that keeps what it replaces."""

    async def apply():
        backup_store.set(store)
        file = find_kind("file").model_validate({"name": str(path), **properties})
        for action in file.plan(await file.observe(), refresh=False):
            await action.run()

    trio.run(apply)


@pytest.fixture
def state(tmp_path):
    (tmp_path / "state").mkdir(0o700)
    return tmp_path / "state"


@pytest.fixture
def store(state):
    return Store(str(state / "backups"))


@pytest.fixture
def restore(reactor, state):
    return lambda *words: reactor("restore", "--state-dir", state, *words)


@pytest.fixture
def motd(tmp_path, store):
    """A file that a resource has replaced twice."""
    path = tmp_path / "motd"
    path.write_text("first")
    path.chmod(0o640)
    converge(store, path, ensure="present", content="second", mode="0600", **OWNERS)
    converge(store, path, ensure="present", content="third", mode="0644", **OWNERS)
    return path


def ids(listing):
    return re.findall(r"^[0-9a-f]{8}", listing, re.MULTILINE)


def look(path):
    found = path.stat()
    return path.read_text(), found.st_mode & 0o7777, found.st_uid, found.st_gid


def test_the_newest_version_comes_back_with_its_mode(restore, motd):
    done = restore(motd)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"restored {motd} to version ")
    assert look(motd) == ("second", 0o600, os.getuid(), os.getgid())
    assert [entry.name for entry in motd.parent.iterdir() if entry.name.endswith(".reactor")] == []


def test_any_version_comes_back_by_its_id(restore, motd):
    _, oldest = ids(restore("--list", motd).out)
    assert restore("--from", oldest, motd).code == 0
    assert look(motd)[:2] == ("first", 0o640)


def test_the_list_shows_the_newest_first_and_changes_nothing(restore, motd):
    before = look(motd)
    done = restore("--list", motd)
    header, newest, oldest = done.out.splitlines()
    assert header.split() == ["id", "time", "bytes", "owner", "mode", "changed", "by"]
    assert newest.split()[3:] == ["6", newest.split()[4], "0600", f"file#{motd}"]
    assert oldest.split()[3:] == ["5", oldest.split()[4], "0640", f"file#{motd}"]
    assert look(motd) == before
    assert ids(restore("--list", motd).out) == ids(done.out)


def test_a_restore_can_be_taken_back(restore, motd):
    restore(motd)
    assert look(motd)[0] == "second"
    restore(motd)
    assert look(motd)[:2] == ("third", 0o644)


def test_a_file_that_was_removed_comes_back(restore, motd, store):
    converge(store, motd, ensure="absent")
    assert not motd.exists()
    restore(motd)
    assert look(motd)[:2] == ("third", 0o644)


def test_the_owner_comes_back(restore, motd, store):
    if os.geteuid() != 0:
        pytest.skip("gives a file away")
    os.chown(motd, 4321, 4322)
    converge(store, motd, ensure="present", content="ours", mode="0644", **OWNERS)
    restore(motd)
    assert look(motd) == ("third", 0o644, 4321, 4322)


def test_setuid_does_not_come_back_and_that_is_said(restore, tmp_path, store):
    tool = tmp_path / "tool"
    tool.write_text("old")
    tool.chmod(0o4755)
    converge(store, tool, ensure="present", content="new", mode="0755", **OWNERS)
    done = restore(tool)
    assert look(tool)[:2] == ("old", 0o755)
    assert "the setuid, setgid and sticky bits of its mode 4755 are not restored" in done.err


def test_programs_get_the_versions_and_what_was_done_as_json(restore, motd):
    listed = json.loads(restore("--list", "--format", "json", motd).out)
    newest, oldest = listed["versions"]
    assert (listed["path"], oldest["bytes"], oldest["mode"]) == (str(motd), 5, "0640")
    assert oldest["changed_by"] == f"file#{motd}"
    wanted = ("--from", newest["id"], "--format", "json", motd)
    done = {"path": str(motd), "version": newest["id"]}
    assert json.loads(restore(*wanted).out) == {**done, "changed": True}
    assert json.loads(restore(*wanted).out) == {**done, "changed": False}


def test_what_is_as_it_was_already_stays(restore, motd):
    restore(motd)
    (second, *_) = (line.split()[0] for line in restore("--list", motd).out.splitlines() if " 0600 " in line)
    before = written(motd)
    assert restore("--from", second, motd).out == f"{motd} is already as in version {second}\n"
    assert written(motd) == before


def test_a_relative_path_is_meant_from_here(restore, motd, monkeypatch):
    monkeypatch.chdir(motd.parent)
    assert restore("./motd").code == 0
    assert look(motd)[0] == "second"


def test_a_path_or_an_id_without_a_version_is_an_error_that_changes_nothing(restore, motd, tmp_path):
    done = restore(tmp_path / "nothing")
    assert done.code == 1
    assert f"{tmp_path}/state has no version of {tmp_path}/nothing" in done.err
    done = restore("--from", "00000000", motd)
    assert done.code == 1
    assert (
        f"{motd} has no version 00000000\nhint: 'reactor restore --list {motd}' lists the versions\n"
        in done.err
    )
    assert look(motd)[0] == "third"


@pytest.mark.parametrize("other", [("--diff",), ("--from", "00000000")])
def test_a_list_with_another_wish_is_bad_usage_that_changes_nothing(restore, motd, other):
    done = restore("--list", *other, motd)
    assert (done.code, done.out) == (2, "")
    assert "--list can't be used with --diff or --from" in done.err
    assert look(motd)[0] == "third"


def test_a_damaged_version_is_not_put_back(restore, motd, state):
    newest = ids(restore("--list", motd).out)[0]
    for kept in (state / "backups" / "objects").iterdir():
        kept.write_bytes(b"x" * kept.stat().st_size)
    done = restore(motd)
    assert done.code == 1
    assert f"version {newest} can't be read: the backup is damaged" in done.err
    assert look(motd)[0] == "third"


def test_what_can_not_be_put_back_is_reported_with_a_hint(restore, motd):
    motd.unlink()
    motd.mkdir()
    done = restore(motd)
    assert done.code == 1
    assert f"{motd} exists as a directory; cannot manage it as a file" in done.err
    assert "hint: " in done.err


def test_a_run_that_goes_on_is_named(restore, motd, state):
    said = {"pid": 4711, "manifest": "/etc/site.yaml", "since": time.time()}
    (state / "lock").write_text(json.dumps(said))
    assert restore(motd).err == ""
    with (state / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = restore(motd)
    assert "warning: process 4711 (reactor run /etc/site.yaml, since " in done.err
    assert f"if its manifest has file#{motd}, it changes the file back" in done.err


def test_that_the_next_run_undoes_it_is_said_while_the_manifest_has_the_file(
    reactor, restore, manifest, state, tmp_path
):
    path = tmp_path / "motd"
    path.write_text("by hand")
    entry = "resources:\n  - file:\n      - {dir}/%s: {ensure: present, content: managed, {own}}\n"
    run(reactor, state, manifest(entry % "motd"))
    assert restore(path).err == (
        f"warning: the manifest of the last run has file#{path}: the next run changes the file back, unless you"
        " change the manifest\n"
    )
    run(reactor, state, manifest(entry % "other"))
    assert restore(path).err == ""


def test_that_a_part_of_the_file_may_come_back_is_said(reactor, restore, manifest, state, tmp_path):
    path = tmp_path / "hosts"
    path.write_text("by hand\n")
    run(reactor, state, manifest("resources:\n  - line:\n      - managed: {path: {dir}/hosts}\n"))
    done = restore(path)
    assert path.read_text() == "by hand\n"
    said = f"if the manifest of the last run has a line, a block or the like of {path}, the next run changes the file back"
    assert said in done.err


def run(reactor, state, manifest, *options):
    return reactor("run", "--converge-once", "--state-dir", state, *options, manifest)


def test_a_run_keeps_what_it_replaces_and_a_noop_run_keeps_nothing(
    reactor, restore, manifest, state, tmp_path
):
    path = tmp_path / "motd"
    path.write_text("by hand")
    site = manifest("resources:\n  - file:\n      - {dir}/motd: {ensure: present, content: managed, {own}}\n")
    assert run(reactor, state, site, "--noop").code == 0
    assert not (state / "backups").exists()
    assert run(reactor, state, site).code == 0
    assert path.read_text() == "managed"
    assert restore(path).code == 0
    assert path.read_text() == "by hand"


def test_a_backup_that_fails_is_reported_and_the_run_succeeds(reactor, manifest, state, tmp_path):
    path = tmp_path / "motd"
    path.write_text("by hand")
    (state / "backups").write_text("in the way")
    site = manifest("resources:\n  - file:\n      - {dir}/motd: {ensure: present, content: managed, {own}}\n")
    done = run(reactor, state, site)
    assert done.code == 0
    assert path.read_text() == "managed"
    assert f"no backup of {path}: Not a directory" in done.out + done.err


def test_all_files_come_back_as_they_were_at_a_time_and_the_rest_is_named(
    reactor, restore, manifest, state, tmp_path
):
    for name in ("edited", "gone", "part"):
        (tmp_path / name).write_text(f"{name}\n")
    body = f"""
resources:
  - file:
      - defaults: {{owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present}}
      - {tmp_path}/edited: {{content: %s}}
      - {tmp_path}/new: {{content: N}}
      - {tmp_path}/gone: {{ensure: absent}}
  - line:
      - greeting: {{path: {tmp_path}/part, line: hello}}
"""
    assert run(reactor, state, manifest(body % "first")).code == 0
    assert run(reactor, state, manifest(body % "second")).code == 0
    listed = restore("--since", "1h", "--list")
    assert [line.split()[-1] for line in listed.out.splitlines()[:4]] == [
        str(tmp_path / name) for name in ("edited", "gone", "part")
    ] + ["above:"]
    shown = restore("--since", "1h", "--diff")
    assert "-second\n\\ No newline at end of file\n+edited\n" in shown.out
    assert not (tmp_path / "gone").exists()
    done = restore("--since", "1h")
    assert [line.split()[:2] for line in done.out.splitlines()[:3]] == [
        ["restored", str(tmp_path / name)] for name in ("edited", "gone", "part")
    ]
    assert done.out.endswith(
        "other changes since then, taken back only where they are in the files above:\n"
        f"    file#{tmp_path}/new  created the file\n    line#greeting  added the line\n"
    )
    assert done.err == "warning: the next run changes back what its manifest has: change the manifest, too\n"
    for name in ("edited", "gone", "part"):
        assert (tmp_path / name).read_text() == f"{name}\n"
    again = restore("--since", "1h", "--format", "json", tmp_path / "edited")
    assert json.loads(again.out)["changed"] is False


def test_one_file_that_can_not_come_back_does_not_keep_the_others_away(restore, motd, store, state, tmp_path):
    other = tmp_path / "other"
    other.write_text("old")
    converge(store, other, ensure="present", content="new", mode="0644", **OWNERS)
    digest = json.loads(restore("--list", "--format", "json", other).out)["versions"][0]["id"]
    (entry,) = (state / "backups" / "entries").glob(f"*-{digest}-*")
    (state / "backups" / "objects" / entry.name.rpartition("-")[2]).write_text("bad")
    done = restore("--since", "yesterday")
    assert (done.code, look(motd)[0], other.read_text()) == (1, "first", "new")
    assert f"version {digest} can't be read: the backup is damaged" in done.err


@pytest.mark.parametrize(
    ("words", "complaint", "code"),
    [
        ((), "name a PATH, or a time: --since 10m", 2),
        (("--since", "1h", "--from", "00000000"), "--since can't be used with --from", 2),
        (("--since", "now"), "no file was replaced or removed since 2", 1),
        (("--since", "1h", "/nothing"), "nothing at /nothing was replaced or removed since 2", 1),
    ],
)
def test_a_wish_that_names_no_file_changes_nothing(restore, motd, words, complaint, code):
    done = restore(*words)
    assert (done.code, done.out, look(motd)[0]) == (code, "", "third")
    assert complaint in done.err
