"""Repositories of other users: no setting, hook or symlink in them makes root run a command or write elsewhere."""

import os
import shutil
import stat
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from git_worlds import FILES, Origin, Place, git

from reactor.engine.events import Result
from reactor.resources.git import observer, program
from reactor.resources.git.trust import look
from reactor.resources.process import identity_of
from reactor.resources.trusted_directory import scratch_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

NOBODY = 65534


def give(path, uid=NOBODY):
    for directory, _, names in os.walk(path):
        for each in (directory, *(os.path.join(directory, name) for name in names)):
            os.chown(each, uid, uid, follow_symlinks=False)


@pytest.fixture
def open_place():
    """A checkout that all users can get to, of a repository of nobody's."""
    root = Path(tempfile.mkdtemp(prefix="git-"))
    root.chmod(0o755)
    (root / "server").mkdir()
    origin = Origin(root / "server")
    give(origin.path)
    yield Place(root / "app", origin)
    shutil.rmtree(root)


@pytest.fixture
def trap(open_place):
    """A checkout of nobody's whose settings and hooks run a command; where that command writes who runs it."""
    mark = open_place.path.parent / "mark"
    give(open_place.origin.path, 0)
    git(open_place.path.parent, "clone", "--quiet", open_place.origin.path, open_place.path)
    script = open_place.path / ".git/evil"
    script.write_text(f"#!/bin/sh\nid -u >>{mark}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "core.pager",
                "filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.external",
                "credential.helper", "gpg.program", "remote.origin.uploadpack"):  # fmt: skip
        git(open_place.path, "config", key, script)
    for hook in ("post-checkout", "post-merge", "reference-transaction", "post-index-change", "pre-auto-gc"):
        (open_place.path / ".git/hooks").mkdir(exist_ok=True)
        shutil.copy(script, open_place.path / ".git/hooks" / hook)
    (open_place.path / ".git/info").mkdir(exist_ok=True)
    (open_place.path / ".git/info/attributes").write_text("* filter=evil diff=evil\n")
    mark.touch()
    mark.chmod(0o666)
    give(open_place.path)
    give(open_place.origin.path)
    (open_place.path / "README").write_text("changed\n")
    return mark


async def test_what_a_filter_of_a_user_writes_does_not_fill_the_memory(open_place, trap, monkeypatch):
    monkeypatch.setattr(program, "_MOST", 1 << 20)
    git(open_place.path, "config", "--unset", "filter.evil.process")
    git(open_place.path, "config", "filter.evil.clean", "yes | head -c 4000000 >&2; cat")
    (open_place.path / "README").write_text("CHANGED\n")
    give(open_place.path)
    said = await open_place.must_fail(user="nobody", force=True)
    assert "git status wrote more than 1 MiB" in said


@pytest.mark.parametrize("properties", [{}, {"force": True}, {"ensure": "absent"}, {"user": "games"}])
async def test_root_runs_no_git_in_a_checkout_of_another_user(open_place, trap, properties):
    said = await open_place.must_fail(**properties)
    assert "belongs to nobody" in said
    assert trap.read_text() == ""
    assert (open_place.path / "README").read_text() == "changed\n"


async def test_as_its_owner_git_runs_nothing_as_root(open_place, trap):
    for _ in range(2):
        await open_place.converge(user="nobody", force=True)
    assert set(trap.read_text().split()) <= {str(NOBODY)}


@pytest.mark.parametrize("what", [".git", ".git/config", ".git/hooks", "."])
async def test_root_trusts_nothing_that_others_may_write(open_place, what):
    give(open_place.origin.path, 0)
    await open_place.must_change()
    (open_place.path / ".git/hooks").mkdir(exist_ok=True)
    (open_place.path / what).chmod(0o777)
    assert "may write to" in await open_place.must_fail()


async def test_root_does_not_clone_where_another_user_may_replace_it(open_place):
    give(open_place.origin.path, 0)
    home = open_place.path.parent / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    place = Place(home / "app", open_place.origin)
    assert "may replace" in await place.must_fail()
    assert os.listdir(home) == []


async def test_the_checkout_of_a_user_belongs_to_that_user_in_a_directory_of_root(open_place):
    await open_place.must_change(user="nobody")
    owners = {os.lstat(path).st_uid for path in [open_place.path, *open_place.path.rglob("*")]}
    assert owners == {NOBODY}
    assert open_place.files() == FILES
    (open_place.path / "README").unlink()
    await open_place.must_change(user="nobody")
    assert stat.S_IMODE(open_place.path.stat().st_mode) == 0o755


@pytest.mark.parametrize("name", [".git", ".reactor-git"])
async def test_a_link_in_the_way_leads_nowhere(open_place, name):
    """A user puts a link in place of ``.git``, or of the clone that is being made."""
    home = open_place.path.parent / "home"
    secret = open_place.path.parent / "secret"
    for directory in (home, secret):
        directory.mkdir()
    (secret / "keep").write_text("secret\n")
    place = Place(home / "app", open_place.origin)
    if name == ".git":
        place.path.mkdir()
        (place.path / ".git").symlink_to(secret)
        give(home)
        result, said = await place.converge(user="nobody")
        assert (result, "cannot manage it" in said) == (Result.FAILED, True)
    else:
        os.symlink(secret, place.resource()._checkout.temporary)
        give(home)
        await place.converge(user="nobody")
        assert place.files() == FILES
    assert os.listdir(secret) == ["keep"]
    assert secret.stat().st_uid == 0


async def test_a_repository_with_commands_in_it_runs_none(place, tmp_path):
    mark = tmp_path / "mark"
    evil = f"!touch {mark}"
    place.origin.commit(
        {
            ".gitattributes": "* filter=evil diff=evil merge=evil\n",
            ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {mark}"\n\tupdate = {evil}\n',
            ".gitconfig": f"[core]\n\tfsmonitor = touch {mark}\n",
            "x/hooks/post-checkout": f"#!/bin/sh\ntouch {mark}\n",
        }
    )
    await place.must_change()
    await place.converge(submodules=True)
    assert not mark.exists()


async def test_links_in_a_repository_stay_links(place, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("keep\n")
    (place.origin.work / "link").symlink_to(victim)
    place.origin.commit({})
    await place.must_change()
    (place.path / "link").unlink()
    await place.must_change()
    assert os.readlink(place.path / "link") == str(victim)
    (place.origin.work / "link").unlink()
    place.origin.commit({"link": "now a file\n"})
    await place.must_change()
    assert (place.path / "link").read_text() == "now a file\n"
    assert victim.read_text() == "keep\n"


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c id",
        "--upload-pack=id",
        "-oProxyCommand=id",
        "ssh://-oProxyCommand=id/x",
        "fd::17",
        "",
        "a b",
    ],
)
def test_a_url_that_is_a_command_is_refused(place, url):
    with pytest.raises(ValueError, match=r"URL|host"):
        place.resource(url=url)


@pytest.mark.parametrize(
    "ref", ["--upload-pack=id", "a..b", "a b", "x.lock", "a:b", "@{1}", "/a", "a/", "a\nb"]
)
def test_a_ref_that_is_an_option_is_refused(place, ref):
    with pytest.raises(ValueError, match="is not a branch"):
        place.resource(revision=ref)


async def test_what_a_user_nests_in_a_temporary_directory_of_git_is_removed():
    nest = "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\n"
    async with scratch_for(await identity_of("nobody")) as scratch:
        subprocess.run(["python3", "-c", nest], cwd=scratch, user=NOBODY, check=True)
    assert not os.path.lexists(scratch)


async def test_a_checkout_that_its_owner_fills_holds_up_no_repair(open_place, monkeypatch):
    """100,000 names in .git took more than 3 s of the event loop."""
    threads = []

    def noting(*arguments):
        threads.append(threading.get_ident())
        return look(*arguments)

    monkeypatch.setattr(observer, "look", noting)
    await open_place.must_change(user="nobody")
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("user", [None, "nobody"])
async def test_no_other_user_decides_which_servers_git_of_root_trusts(open_place, user):
    give(open_place.origin.path, 0 if user is None else NOBODY)
    hosts = open_place.path.parent / "known_hosts"
    hosts.touch()
    os.chown(hosts, NOBODY, NOBODY)
    if user is None:
        assert "another user can change" in await open_place.must_fail(known_hosts=str(hosts))
        assert "another user can change as whom" in await open_place.must_fail(key=str(hosts))
    else:
        await open_place.must_change(known_hosts=str(hosts), user=user)


@pytest.mark.parametrize("what", ["sub", "sub/.git", "new"])
@pytest.mark.parametrize(
    "properties", [{"submodules": True}, {"submodules": True, "force": True}, {"force": True}]
)
async def test_root_runs_nothing_of_a_user_to_whom_a_submodule_belongs(open_place, properties, what):
    """git asks each submodule by a process that takes the settings in its directory, whoever owns that."""
    top = open_place.path.parent
    give(open_place.origin.path, 0)
    (top / "other").mkdir()
    other = Origin(top / "other")
    git(open_place.origin.work, "submodule", "--quiet", "add", other.path, "sub")
    open_place.origin.commit({})
    await open_place.converge()
    git(open_place.path, "submodule", "--quiet", "update", "--init")
    mark, sub = top / "mark", open_place.path / what.removesuffix("/.git")
    if what == "new":
        sub.mkdir()
    else:
        (sub / ".git").unlink()
    git(sub, "init", "--quiet")
    git(sub, "config", "filter.evil.clean", f"id -u >>{mark}; cat")
    git(sub, "fetch", "--quiet", other.path, "main")
    git(sub, "reset", "--quiet", "--hard", "FETCH_HEAD")
    (sub / ".git/info").mkdir(exist_ok=True)
    (sub / ".git/info/attributes").write_text("* filter=evil\n")
    (sub / "README").write_text("HELLO\n")
    give(open_place.path / what)
    mark.touch()
    mark.chmod(0o666)
    if what == "new":
        git(open_place.origin.work, "submodule", "--quiet", "add", other.path, "new")
    open_place.origin.commit({"README": "another\n"})
    for noop in (True, False):
        result, said = await open_place.converge(noop=noop, **properties)
        assert mark.read_text() == "", said
    if "submodules" in properties:
        assert (result, "belongs to nobody" in said) == (Result.FAILED, True), said
