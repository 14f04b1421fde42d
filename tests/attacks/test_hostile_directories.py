"""What another user may put below a directory of theirs, and what root then shows, gives away or runs: nothing of root's."""

import os
import stat
from pathlib import Path

import pytest

from reactor.backup.store import Store, backups_in

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
pytestmark = needs_root

STRANGER = 12345
SECRET = "only root may read this"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory of a stranger's, beside a file that only root may read."""
    (tmp_path / "root").mkdir(0o700)
    (tmp_path / "root" / "app.conf").write_text(f"{SECRET}\n")
    (tmp_path / "root" / "app.conf").chmod(0o600)
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    return tmp_path / "home"


def lead(home: Path, name: str = "conf") -> None:
    """The stranger makes a symlink to the directory of root."""
    (home / name).symlink_to("../root")
    os.lchown(home / name, STRANGER, STRANGER)


def managed(manifest, path: Path, *more: str, ensure: str = "present", own: str = "{own}") -> Path:
    text = ", ".join(["ensure: " + ensure, *([own] if ensure != "absent" else []), *more])
    return manifest(f"resources: [file: [{{{path}: {{{text}}}}}]]")


@pytest.mark.parametrize("options", [("--noop", "--diff"), ("--diff",), ("--noop", "--format", "json")])
@pytest.mark.parametrize("more", [("content: theirs",), (), ("content: theirs", "validate: 'cat {path}'")])
def test_a_symlinked_parent_shows_nothing_of_a_file_of_root(reactor, manifest, home, options, more):
    lead(home)
    done = reactor("run", "--converge-once", *options, managed(manifest, home / "conf/app.conf", *more))
    assert SECRET not in done.out + done.err
    assert (
        f"{home}/conf leads through a symlink of {STRANGER} into a directory of root" in done.out + done.err
    )
    assert done.code != 0
    assert (home.parent / "root/app.conf").read_text() == f"{SECRET}\n"


def test_where_only_a_warning_is_asked_for_it_is_the_same(reactor, manifest, home):
    lead(home)
    path = managed(manifest, home / "conf/app.conf", "content: theirs", "meta: {noop: true}")
    done = reactor("run", "--converge-once", "--diff", path)
    assert SECRET not in done.out + done.err
    assert done.code != 0


@pytest.mark.parametrize("ensure", ["absent", "directory", "present"])
def test_noop_does_not_say_would_change_for_what_would_be_refused(reactor, manifest, home, ensure):
    lead(home)
    done = reactor("run", "--converge-once", "--noop", managed(manifest, home / "conf/new", ensure=ensure))
    assert "would change 1" not in done.out
    assert "refusing to follow it" in done.out + done.err


@pytest.mark.parametrize("properties", ["source: {dir}/home/conf/app.conf", "source: {dir}/home/link"])
def test_a_source_is_not_read_through_a_symlink_of_a_stranger(reactor, manifest, home, tmp_path, properties):
    lead(home)
    (home / "link").symlink_to("../root/app.conf")
    os.lchown(home / "link", STRANGER, STRANGER)
    done = reactor(
        "run", "--converge-once", "--diff", managed(manifest, tmp_path / "copy", properties, own="{own}")
    )
    assert SECRET not in done.out + done.err
    assert not (tmp_path / "copy").exists()
    assert "refusing to follow it" in done.out + done.err


def hard_link(home: Path, name: str = "app.conf") -> Path:
    """The stranger gives the file of root a name of theirs, as where fs.protected_hardlinks is 0."""
    os.link(home.parent / "root/app.conf", home / name)
    return home / name


def test_a_hard_link_to_a_file_of_root_is_not_given_away(reactor, manifest, home):
    path = hard_link(home)
    own = f'owner: "{STRANGER}", group: "{STRANGER}", mode: "0644"'
    for options in (["--noop"], []):
        done = reactor("run", "--converge-once", *options, managed(manifest, path, own=own))
        assert "has 2 hard links, and users other than root can write to its directory" in done.out + done.err
        assert done.code != 0
    found = (home.parent / "root/app.conf").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o600)


def test_a_hard_link_to_a_file_of_root_is_replaced_and_its_content_shown_nowhere(
    reactor, manifest, home, state_directory
):
    path = hard_link(home)
    own = f'owner: "{STRANGER}", group: "{STRANGER}", mode: "0644"'
    done = reactor("run", "--converge-once", "--diff", managed(manifest, path, "content: theirs", own=own))
    assert SECRET not in done.out + done.err
    assert "Content is not shown" in done.out
    assert done.code == 0
    assert (path.read_text(), path.stat().st_uid) == ("theirs", STRANGER)
    original = home.parent / "root/app.conf"
    assert (original.read_text(), original.stat().st_uid) == (f"{SECRET}\n", 0)


def test_a_source_with_a_second_name_in_a_strangers_directory_is_not_copied(
    reactor, manifest, home, tmp_path
):
    hard_link(home)
    done = reactor(
        "run", "--converge-once", "--diff", managed(manifest, tmp_path / "copy", f"source: {home}/app.conf")
    )
    assert SECRET not in done.out + done.err
    assert not (tmp_path / "copy").exists()


def test_a_symlink_of_root_with_a_second_name_is_not_the_word_of_root(reactor, manifest, home):
    (home.parent / "root/link").symlink_to("../root")
    os.link(home.parent / "root/link", home / "conf", follow_symlinks=False)
    done = reactor(
        "run", "--converge-once", "--diff", managed(manifest, home / "conf/app.conf", "content: theirs")
    )
    assert SECRET not in done.out + done.err
    assert "refusing to follow it" in done.out + done.err
    assert (home.parent / "root/app.conf").read_text() == f"{SECRET}\n"


def test_a_former_owner_can_not_go_on_writing_to_a_file_that_root_took_over(reactor, manifest, home):
    path = home / "app.conf"
    path.write_text("x")
    os.chown(path, STRANGER, STRANGER)
    with path.open("r+") as kept:
        done = reactor("run", "--converge-once", managed(manifest, path, "content: x"))
        kept.write("theirs")
    assert f"changed owner from {STRANGER} to 0" in done.out
    assert (path.read_text(), path.stat().st_uid) == ("x", 0)


def test_a_user_who_could_write_by_a_mode_that_is_taken_back_can_not_go_on(reactor, manifest, home):
    path = home / "app.conf"
    path.write_text("x")
    path.chmod(0o666)
    with path.open("r+") as kept:
        reactor("run", "--converge-once", managed(manifest, path, "content: x"))
        kept.write("theirs")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("x", 0o644)


SEE_WHERE = """#!/bin/sh
dirname "$1" > {0}/seen; stat -c '%u %a' "$(dirname "$1")" >> {0}/seen; cat "$1" > {0}/judged; basename "$1" > {0}/name
"""


@pytest.mark.parametrize("directory", ["home", "root"])
def test_content_is_judged_where_no_other_user_can_replace_it(reactor, manifest, home, tmp_path, directory):
    judge = tmp_path / "judge"
    judge.write_text(SEE_WHERE.format(tmp_path))
    judge.chmod(0o755)
    path = tmp_path / directory / "site.conf"
    done = reactor(
        "run", "--converge-once", managed(manifest, path, "content: x", f"validate: '{judge} {{path}}'")
    )
    assert done.code == 0, done
    where, rights = (tmp_path / "seen").read_text().split("\n")[:2]
    assert (where == str(path.parent)) is (directory == "root")
    assert rights == "0 700"
    assert (tmp_path / "judged").read_text() == path.read_text() == "x"
    assert (tmp_path / "name").read_text().endswith(".conf\n")
    assert not Path(where).exists() or directory == "root"


def test_what_a_reversal_keeps_is_not_read_through_a_symlink_of_a_stranger(
    reactor, manifest, home, state_directory
):
    (home / "conf").mkdir()
    os.chown(home / "conf", STRANGER, STRANGER)
    (home / "conf/app.conf").write_text("before")
    path = managed(manifest, home / "conf/app.conf", "content: theirs", "meta: {reverse: true}")
    (home / "conf").rename(home / "away")
    lead(home)
    done = reactor("run", "--converge-once", path)
    assert done.code != 0
    kept = [each.read_bytes() for each in Path(state_directory).rglob("*") if each.is_file()]
    assert not any(SECRET.encode() in each for each in kept)
    assert Store(backups_in(str(state_directory))).versions(str(home / "conf/app.conf")) == []


def scaffold(manifest, home: Path, tmp_path: Path, *, source: str, target: str, more: str = "") -> Path:
    (tmp_path / "templates").mkdir(exist_ok=True)
    (tmp_path / "templates/app.conf").write_text("theirs")
    return manifest(f"resources: [scaffold: [{{{target}: {{ensure: present, source: {source}{more}}}}}]]")


@pytest.mark.parametrize("options", [("--noop", "--diff"), ("--diff",)])
@pytest.mark.parametrize("more", ["", ", purge: true"])
def test_a_tree_is_not_read_through_a_symlinked_parent(reactor, manifest, home, options, more):
    (home.parent / "root/site").mkdir()
    (home.parent / "root/app.conf").rename(home.parent / "root/site/app.conf")
    (home.parent / "root/site/other").write_text(SECRET)
    lead(home)
    path = scaffold(
        manifest, home, home.parent, source=f"{home.parent}/templates", target=f"{home}/conf/site", more=more
    )
    done = reactor("run", "--converge-once", *options, path)
    assert SECRET not in done.out + done.err
    assert "refusing to follow it" in done.out + done.err
    assert done.code != 0
    assert (home.parent / "root/site/app.conf").read_text() == f"{SECRET}\n"
    assert (home.parent / "root/site/other").exists()


def test_a_template_is_not_read_through_a_symlinked_parent(reactor, manifest, home, tmp_path):
    lead(home)
    path = scaffold(manifest, home, tmp_path, source=f"{home}/conf", target=f"{tmp_path}/target")
    done = reactor("run", "--converge-once", "--diff", path)
    assert SECRET not in done.out + done.err
    assert not (tmp_path / "target").exists()


def test_a_template_that_is_a_hard_link_to_a_file_of_root_is_not_rendered(reactor, manifest, home, tmp_path):
    hard_link(home)
    path = scaffold(manifest, home, tmp_path, source=f"{home}", target=f"{tmp_path}/target")
    done = reactor("run", "--converge-once", "--diff", path)
    assert SECRET not in done.out + done.err
    assert not (tmp_path / "target").exists()


def test_a_hard_link_in_the_place_of_a_file_of_a_tree_is_replaced_and_not_shown(
    reactor, manifest, home, tmp_path
):
    hard_link(home)
    path = scaffold(
        manifest, home, tmp_path, source=f"{tmp_path}/templates", target=f"{home}", more=", file_mode: '0644'"
    )
    done = reactor("run", "--converge-once", "--diff", path)
    assert SECRET not in done.out + done.err
    assert (home.parent / "root/app.conf").read_text() == f"{SECRET}\n"
    assert stat.S_IMODE((home.parent / "root/app.conf").stat().st_mode) == 0o600
    assert (home / "app.conf").read_text() == "theirs"


@pytest.mark.parametrize("provider", ["posix", "shell"])
def test_a_command_does_not_begin_in_a_directory_that_a_stranger_leads_to(reactor, manifest, home, provider):
    lead(home)
    path = manifest(
        f"resources: [exec: [{{clean: {{command: 'rm -rf app.conf', cwd: {home}/conf, provider: {provider}}}}}]]"
    )
    done = reactor("run", "--converge-once", path)
    assert (home.parent / "root/app.conf").exists()
    assert "refusing to follow it" in done.out + done.err
    assert done.code != 0


def test_a_health_check_does_not_read_through_a_symlink_of_a_stranger(reactor, manifest, home, tmp_path):
    lead(home)
    rules = f"{{file: {{{home}/conf/app.conf: {{exists: true, contents: [nothing]}}}}}}"
    path = manifest(
        f"resources: [file: [{{{tmp_path}/f: {{ensure: present, {{own}}, content: x, health_checks: [{{goss_rules: {rules}}}]}}}}]]"
    )
    done = reactor("run", "--converge-once", path)
    assert SECRET not in done.out + done.err
    assert "refusing to follow it" in done.out + done.err


@pytest.mark.parametrize("dry", [True, False])
def test_a_program_that_others_can_replace_gets_no_rights_of_its_group(reactor, manifest, tmp_path, dry):
    (shared := tmp_path / "tools").mkdir()
    os.chown(shared, 0, STRANGER)
    shared.chmod(0o775)
    (shared / "tool").write_text("of the stranger")
    os.chown(shared / "tool", STRANGER, STRANGER)
    wanted = '{ensure: present, owner: root, group: daemon, mode: "0755", setgid: true}'
    path = manifest(f"resources: [file: [{{{shared}/tool: {wanted}}}]]")
    done = reactor("run", "--converge-once", *(["--noop"] if dry else []), path)
    assert "refusing to give the rights of its group to the file" in done.out
    assert done.code == 1
    assert not (shared / "tool").stat().st_mode & 0o6000


def test_a_program_whose_content_is_managed_has_the_rights_of_its_group(reactor, manifest, tmp_path):
    (shared := tmp_path / "tools").mkdir()
    os.chown(shared, 0, STRANGER)
    shared.chmod(0o775)
    (shared / "tool").write_text("of root")
    (shared / "tool").chmod(0o755)
    before = (shared / "tool").stat().st_ino
    wanted = '{ensure: present, content: of root, owner: root, group: daemon, mode: "0755", setgid: true}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{shared}/tool: {wanted}}}]]"))
    assert done.code == 0, done.out
    found = (shared / "tool").stat()
    assert found.st_mode & 0o2000
    assert found.st_ino != before, "the file that was compared could be another one by then"
