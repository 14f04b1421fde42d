"""``meta: {reverse: true}``: what left the manifest is undone, as a person meets it, on real files and processes."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from functools import partial

import pytest
from files_of_cli import put
from processes_of_cli import environment, finish, next_event, spawned, up_to, wait_until


def entry(path, text, **more):
    properties = {"ensure": "present", "content": text, "mode": "0640", **more}
    ids = {"owner": str(os.getuid()), "group": str(os.getgid())}
    return f"      - {path}: {json.dumps({**properties, **ids, 'meta': {'reverse': True}})}\n"


def manifest_of(*entries):
    return "resources:\n  - file:\n" + "".join(entries) if entries else "resources: []\n"


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site.yaml"


def run_once(reactor, site, *options):
    return reactor("run", "--converge-once", "--format", "json", *options, site)


def test_content_owner_and_mode_come_back_after_a_restart(reactor, tmp_path, site, state_directory):
    path = tmp_path / "motd"
    path.write_text("before\n")
    path.chmod(0o604)
    site.write_text(manifest_of(entry(path, "managed\n")))
    assert run_once(reactor, site).code == 0
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("managed\n", 0o640)
    site.write_text(manifest_of(entry(path, "another version\n")))
    assert run_once(reactor, site).code == 0

    site.write_text(manifest_of())
    done = run_once(reactor, site)
    assert done.code == 0
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("before\n", 0o604)
    kinds = [event["event"] for event in done.records]
    assert kinds == ["reversing", "checked", "reversed", "converged", "ended"]
    checked = done.records[1]
    assert checked["causes"] == ["intent"]

    path.write_text("mine again\n")
    done = run_once(reactor, site)
    assert path.read_text() == "mine again\n", "it is undone once"
    assert "reversing" not in done.out
    assert os.listdir(state_directory / "backups" / "held") == [], "what was held is freed"


def test_content_that_a_broken_journal_may_know_of_is_kept_as_long_as_that(
    reactor, tmp_path, site, state_directory
):
    path, held = tmp_path / "motd", state_directory / "backups" / "held"
    path.write_text("theirs")
    site.write_text(manifest_of(entry(path, "managed")))
    assert run_once(reactor, site).code == 0
    (state_directory / "journal.sqlite").write_bytes(b"garbage" * 1000)
    for _ in range(2):
        assert run_once(reactor, site).code == 0
        assert [each.read_text() for each in held.iterdir()] == ["theirs"]
    for broken in state_directory.glob("journal.sqlite.broken-*"):
        broken.unlink()
    site.write_text(manifest_of())
    for _ in range(2):
        assert run_once(reactor, site).code == 0
    assert list(held.iterdir()) == []


def test_what_was_not_there_before_is_removed_files_before_their_directory(reactor, tmp_path, site):
    directory = tmp_path / "app"
    made = entry(directory, None, ensure="directory").replace('"content": null, ', "")
    site.write_text(manifest_of(made, entry(directory / "a", "a"), entry(directory / "b", "b")))
    assert run_once(reactor, site).code == 0
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert not directory.exists()


def test_what_was_as_desired_from_the_start_is_let_go(reactor, tmp_path, site):
    path = tmp_path / "motd"
    path.write_text("same\n")
    path.chmod(0o640)
    site.write_text(manifest_of(entry(path, "same\n")))
    assert run_once(reactor, site).code == 0
    path.write_text("drift\n")
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "same\n"
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "same\n", "the drift is not what was there before"


def test_a_removed_file_comes_back(reactor, tmp_path, site):
    path = tmp_path / "nuisance"
    path.write_text("precious\n")
    path.chmod(0o600)
    site.write_text(f"resources:\n  - file:\n      - {path}: {{ensure: absent, meta: {{reverse: true}}}}\n")
    assert run_once(reactor, site).code == 0
    assert not path.exists()
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "precious\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("later", ["content: new", "ensure: absent"])
def test_content_that_only_an_edit_lets_change_comes_back_too(reactor, tmp_path, site, later):
    path = tmp_path / "f"
    path.write_text("theirs\n")
    path.chmod(0o600)
    only_mode = entry(path, None).replace('"content": null, ', "")
    site.write_text(manifest_of(only_mode))
    assert run_once(reactor, site).code == 0
    entry_later = f"      - {path}: {{{later}, meta: {{reverse: true}}}}\n"
    if later.startswith("content"):
        entry_later = entry(path, "new").replace('"0640"', '"0644"')
    for _ in range(2):
        site.write_text(manifest_of(entry_later))
        assert run_once(reactor, site).code == 0
        if path.exists():
            path.write_text("drift")
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("theirs\n", 0o600)


def test_what_was_as_desired_from_the_start_comes_back_after_an_edit(reactor, tmp_path, site):
    text, link, later = tmp_path / "text", tmp_path / "link", tmp_path / "later"
    text.write_text("theirs\n")
    text.chmod(0o640)
    link.symlink_to("nowhere")
    form = "      - {}: {{{}, meta: {{reverse: true}}}}\n"
    site.write_text(
        manifest_of(
            entry(text, "theirs\n"),
            form.format(link, "ensure: link, target: nowhere"),
            form.format(later, "ensure: absent"),
        )
    )
    assert run_once(reactor, site).code == 0
    site.write_text(manifest_of(entry(text, "x"), entry(link, "x"), entry(later, "x")))
    assert run_once(reactor, site).code == 1, "no file could give way to a link again"
    assert (text.read_text(), os.readlink(link), later.read_text()) == ("x", "nowhere", "x")
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert (text.read_text(), os.readlink(link), later.exists()) == ("theirs\n", "nowhere", False)


def test_an_edit_puts_no_directory_in_the_place_of_a_file_that_is_to_come_back(reactor, tmp_path, site):
    path = tmp_path / "f"
    path.write_text("theirs\n")
    site.write_text(manifest_of(entry(path, "x")))
    assert run_once(reactor, site).code == 0
    site.write_text(manifest_of(entry(path, None, ensure="directory").replace('"content": null, ', "")))
    done = run_once(reactor, site)
    assert (done.code, path.read_text()) == (1, "x")
    assert "reverse could not restore" in done.out
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "theirs\n"


def test_a_file_with_attributes_that_a_new_version_would_lose_stays(reactor, tmp_path, site):
    path = tmp_path / "f"
    path.write_text("theirs\n")
    path.chmod(0o600)
    os.setxattr(path, "user.origin", b"x")
    site.write_text(manifest_of(entry(path, "ours")))
    done = run_once(reactor, site)
    assert done.code == 1
    assert f"reverse could not restore the extended attribute user.origin of {path}" in done.out
    site.write_text(manifest_of(entry(path, None).replace('"content": null, ', "")))
    assert run_once(reactor, site).code == 0
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert (path.read_text(), os.getxattr(path, "user.origin")) == ("theirs\n", b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("is_directory", [False, True])
def test_a_file_with_attributes_that_would_be_lost_is_not_removed(reactor, tmp_path, site, is_directory):
    path = tmp_path / "f"
    if is_directory:
        path.mkdir()
    else:
        path.write_text("theirs\n")
    os.setxattr(path, "user.origin", b"x")
    site.write_text(f"resources:\n  - file:\n      - {path}: {{ensure: absent, meta: {{reverse: true}}}}\n")
    done = run_once(reactor, site)
    assert done.code == 1
    assert f"reverse could not restore the extended attribute user.origin of {path}" in done.out
    assert os.getxattr(path, "user.origin") == b"x"


def test_a_symlink_in_the_way_is_not_touched_because_it_could_not_come_back(reactor, tmp_path, site):
    path = tmp_path / "link"
    path.symlink_to("/nowhere")
    site.write_text(manifest_of(entry(path, "x")))
    done = run_once(reactor, site)
    assert done.code == 1
    assert "reverse could not restore" in done.out
    assert os.readlink(path) == "/nowhere"


@pytest.mark.parametrize("dry_run", ["--noop", "noop", "warn"])
def test_a_dry_run_says_that_what_could_not_come_back_would_be_refused(reactor, tmp_path, site, dry_run):
    path = tmp_path / "link"
    path.symlink_to("/nowhere")
    meta = {"noop": '"meta": {"noop": true, ', "warn": '"meta": {"mode": "warn", '}.get(dry_run, '"meta": {')
    site.write_text(manifest_of(entry(path, "x")).replace('"meta": {', meta))
    done = run_once(reactor, site, *(["--noop"] if dry_run == "--noop" else []))
    refused = dry_run != "warn"  # no run would change it
    assert done.code == refused
    assert ("reverse could not restore" in done.out) == refused
    assert os.readlink(path) == "/nowhere"


def test_a_dry_run_refuses_nothing_that_a_run_would_do_and_keeps_nothing(
    reactor, tmp_path, site, state_directory
):
    path = tmp_path / "motd"
    path.write_text("before")
    site.write_text(manifest_of(entry(path, "managed")))
    done = run_once(reactor, site, "--noop")
    assert (done.code, "would_change" in done.out) == (0, True)
    assert not state_directory.exists()

    assert run_once(reactor, site).code == 0
    path.unlink()
    path.symlink_to("/nowhere")
    assert run_once(reactor, site, "--noop").code == 0, "how it was is on record already"
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "managed"


@pytest.mark.parametrize("ensure", ["present", "absent"])
def test_a_setuid_file_is_not_touched_because_no_mode_could_bring_that_back(reactor, tmp_path, site, ensure):
    path = tmp_path / "tool"
    path.write_text("x")
    path.chmod(0o4755)
    content = "y" if ensure == "present" else None
    site.write_text(manifest_of(entry(path, content, ensure=ensure)))
    done = run_once(reactor, site)
    assert done.code == 1
    assert "reverse could not restore" in done.out
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("x", 0o4755)


@pytest.mark.parametrize(("bits", "code"), [(0o4755, 1), (0o2755, 0), (0o1755, 0)])
def test_a_directory_is_removed_only_if_its_special_bits_could_be_brought_back(
    bits, code, reactor, tmp_path, site
):
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(bits)
    site.write_text(manifest_of(entry(path, None, ensure="absent")))
    assert run_once(reactor, site).code == code
    assert path.exists() is bool(code)
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == bits


def test_a_setgid_directory_gets_another_mode_and_back(reactor, tmp_path, site):
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(0o2755)
    site.write_text(manifest_of(entry(path, None, ensure="directory", mode="0700")))
    assert run_once(reactor, site).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o2700
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o2755


def test_noop_a_part_of_the_manifest_and_another_manifest_undo_nothing(reactor, tmp_path, site):
    path, other = tmp_path / "motd", tmp_path / "other"
    path.write_text("before")
    site.write_text(manifest_of(entry(path, "managed"), entry(other, "other")))
    assert run_once(reactor, site).code == 0
    assert run_once(reactor, site, "--only", f"file#{other}").code == 0
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text(manifest_of())
    assert run_once(reactor, elsewhere).code == 0
    site.write_text(manifest_of(entry(other, "other")))
    assert run_once(reactor, site, "--noop").code == 0
    assert path.read_text() == "managed"
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "before"
    assert other.read_text() == "other"


def test_a_user_who_takes_reverse_back_keeps_what_there_is(reactor, tmp_path, site):
    path = tmp_path / "motd"
    path.write_text("before")
    kept = entry(path, "managed")
    site.write_text(manifest_of(kept))
    assert run_once(reactor, site).code == 0
    site.write_text(manifest_of(kept.replace("true", "false")))
    assert run_once(reactor, site).code == 0
    site.write_text(manifest_of())
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "managed"


def test_a_reload_undoes_too_and_a_later_entry_is_managed_again(reactor, tmp_path, site):
    path, stays = tmp_path / "motd", tmp_path / "stays"
    path.write_text("before")
    site.write_text(manifest_of(entry(path, "managed"), entry(stays, "stays")))
    with spawned("run", "--format", "json", site) as process:
        heard = up_to(process, "converged")
        put(site, manifest_of(entry(stays, "stays")))
        heard += up_to(process, "reversed")
        assert path.read_text() == "before"
        path.write_text("mine")
        stays.write_text("drift")
        wait_until(lambda: stays.read_text() == "stays")
        assert path.read_text() == "mine", "it is nobody's business any more"
        put(site, manifest_of(entry(path, "managed"), entry(stays, "stays")))
        wait_until(lambda: path.read_text() == "managed")
        process.send_signal(signal.SIGTERM)
        finish(process)
    reloaded = next(event for event in heard if event["event"] == "reloaded")
    assert (reloaded["changed"], reloaded["added"], reloaded["gone"]) == ([], [], [f"file#{path}"])


def test_a_kind_that_can_not_be_undone_says_so_at_load(reactor, site):
    site.write_text("resources:\n  - exec:\n      - ls: {meta: {reverse: true}}\n")
    done = reactor("validate", site)
    assert done.code != 0
    assert "exec can't be undone" in done.err + done.out
    assert f"{site}:3:" in done.err + done.out


@pytest.mark.parametrize("kill_at", ["undone", "hold"])
def test_a_kill_at_any_step_loses_nothing(reactor, tmp_path, site, kill_at):
    """Killed right before the state is noted: the next run does it again, and ends in the same place."""
    path = tmp_path / "motd"
    path.write_text("before")
    site.write_text(manifest_of(entry(path, "managed")))
    if kill_at == "hold":
        killed(site, "reactor.journal.journal", "Journal.record_reversal")
        assert path.read_text() == "before", "nothing is changed before it can be restored"
    assert run_once(reactor, site).code == 0
    site.write_text(manifest_of())
    if kill_at == "undone":
        killed(site, "reactor.journal.journal", "Journal.undone")
        assert path.read_text() == "before"
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "before"
    path.write_text("mine")
    assert run_once(reactor, site).code == 0
    assert path.read_text() == "mine"


def killed(site, module, method):
    """A run that kills itself when it comes to ``method``."""
    code = (
        f"import os, signal, sys, {module} as module\n"
        f"module.{method} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from reactor.cli.group import reactor\n"
        f"reactor(['run', '--converge-once', {str(site)!r}])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def test_a_child_manifest_that_is_away_for_a_while_undoes_nothing(reactor, tmp_path, site):
    kept, gone, child = tmp_path / "kept", tmp_path / "gone", tmp_path / "child.yaml"
    site.write_text("resources: [{apply: [child.yaml: {}]}]")
    child.write_text(manifest_of(entry(kept, "managed\n"), entry(gone, "managed\n")))
    assert run_once(reactor, site).code == 0
    child.unlink()
    done = run_once(reactor, site)
    assert done.code == 1
    assert "no such file" in done.out
    assert (kept.read_text(), gone.read_text()) == ("managed\n", "managed\n")
    child.write_text(manifest_of(entry(kept, "managed\n")))
    assert run_once(reactor, site).code == 0
    assert kept.read_text() == "managed\n"
    assert not gone.exists()


def test_what_is_being_undone_still_is_while_a_child_manifest_is_away(tmp_path, site):
    directory = tmp_path / "app"
    made = entry(directory, None, ensure="directory").replace('"content": null, ', "")
    child = "  - apply: [child.yaml: {}]\n"
    (tmp_path / "child.yaml").write_text("resources: []")
    site.write_text(manifest_of(made) + child)
    with spawned("run", "--format", "json", site) as process:
        heard = partial(next_event, process)
        heard("converged")
        (directory / "foreign").write_text("in the way")
        put(site, "resources:\n" + child)
        heard("checked", ref=f"file#{directory}", result="failed")
        (tmp_path / "child.yaml").unlink()
        heard("checked", ref="apply#child.yaml", result="failed")
        (directory / "foreign").unlink()
        heard("reversed")
        assert not directory.exists()
        process.send_signal(signal.SIGTERM)
        finish(process)


def test_a_dry_run_names_what_a_run_would_undo(reactor, tmp_path, site):
    path = tmp_path / "motd"
    site.write_text(manifest_of(entry(path, "managed\n")))
    assert run_once(reactor, site).code == 0
    warning = f"file#{path} was removed from the manifest, and would be undone"
    assert warning not in reactor("run", "--noop", "--converge-once", site).err
    site.write_text(manifest_of())
    assert warning in reactor("run", "--noop", "--converge-once", site).err
    assert warning not in reactor("run", "--noop", "--converge-once", "--only", "file#*", site).err
    assert path.exists()
    assert run_once(reactor, site).code == 0
    assert warning not in reactor("run", "--noop", "--converge-once", site).err
    assert not path.exists()
