"""A checkout at a branch, tag or commit: cloned, moved on, and never at the price of what is only there."""

import os
import stat
import time
from types import SimpleNamespace

import pytest
import trio
from git_worlds import FILES, Origin, Place, git
from one_shot import checked

from reactor import ResourceError
from reactor.engine.events import Output, Result
from reactor.resource.backup_store import state_directory_for
from reactor.resources.git import Git
from reactor.resources.git.checkout import _KEPT
from reactor.resources.git.observer import parse_status
from reactor.resources.git.program import Program
from reactor.resources.process import Completed
from reactor.testing.story import running

NEW = {"README": "hello again\n", "src/new": "new\n"}


async def test_a_branch_is_cloned_whole_and_is_then_as_desired(place):
    assert (await place.must_change()).startswith("cloned ")
    assert place.files() == FILES
    assert (place.head(), place.branch()) == (place.origin.first, "main")
    assert git(place.path, "status", "--porcelain=v2", "--branch").count("branch.ab +0 -0") == 1
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o755
    assert [path.name for path in place.path.parent.glob(".reactor*")] == []


async def test_new_commits_are_checked_out(place):
    await place.must_change()
    new = place.origin.commit({**NEW, "src/data": None})
    said = await place.must_change()
    assert said == f"checked out {new[:7]} (main), from {place.origin.first[:7]}"
    assert place.files() == {"README": "hello again\n", "src/new": "new\n"} | {
        name: FILES[name] for name in ("src/app.py", ".gitignore")
    }
    assert place.branch() == "main"


async def test_the_server_is_asked_again_after_the_interval(place):
    resource = place.resource(interval="50ms")
    async with running(resource) as story:
        await story.converged()
        new = place.origin.commit(NEW)
        await story.until(lambda: place.head() == new and place.files()["README"] == NEW["README"])


@pytest.mark.parametrize("options", [(), ("-m", "a tag that is an object")])
async def test_a_tag_is_checked_out_without_a_branch(place, options):
    place.origin.tag("v1", *options)
    place.origin.commit(NEW)
    await place.must_change(revision="v1")
    assert (place.head(), place.branch()) == (place.origin.first, "")
    assert place.files() == FILES


async def test_a_commit_that_is_there_needs_no_server(place):
    second = place.origin.commit(NEW)
    await place.must_change(ref=place.origin.first)
    await place.must_change(revision=second)
    place.origin.path.rename(place.origin.path.with_suffix(".away"))
    await place.must_change(revision=place.origin.first)
    assert place.files() == FILES


async def test_a_commit_of_no_branch_is_fetched_by_its_id(place):
    lost = place.origin.commit(NEW)
    git(place.origin.work, "reset", "--quiet", "--hard", place.origin.first)
    place.origin.commit({"README": "another\n"})
    git(place.origin.path, "config", "uploadpack.allowAnySHA1InWant", "true")
    for depth in ({}, {"depth": 1}):
        await place.must_change(revision=lost, **depth)
        await place.must_change(ensure="absent")


async def test_history_may_be_short(place):
    place.origin.commit(NEW)
    url = f"file://{place.origin.path}"
    await place.must_change(depth=1, url=url)
    assert git(place.path, "rev-list", "--count", "HEAD") == "1"
    place.origin.commit({"README": "third\n"})
    await place.must_change(depth=1, url=url)
    assert place.files()["README"] == "third\n"


async def test_another_branch_is_checked_out_by_its_name(place):
    await place.must_change()
    git(place.origin.work, "switch", "--quiet", "-c", "stable")
    stable = place.origin.commit(NEW, "stable")
    await place.must_change(revision="stable")
    assert (place.head(), place.branch()) == (stable, "stable")
    await place.must_change(revision="main")
    assert place.files() == FILES


async def test_a_history_that_was_written_again_is_followed_without_force(place):
    place.origin.commit(NEW)
    await place.must_change()
    git(place.origin.work, "reset", "--quiet", "--hard", place.origin.first)
    place.origin.commit({"README": "another\n"})
    await place.must_change()
    assert place.files() == {**FILES, "README": "another\n"}


@pytest.mark.parametrize(("old", "new"), [("release", "release/1.0"), ("release/1.0", "release")])
async def test_a_branch_of_the_server_that_took_the_place_of_another_is_checked_out(place, old, new):
    """To git, one is a file where the other needs a directory."""
    place.origin.commit({}, old)
    await place.must_change(revision=old)
    git(place.origin.path, "branch", "--move", old, new)
    place.origin.commit(NEW, new)
    await place.must_change(revision=new)
    assert (place.branch(), place.files()) == (new, {**FILES, **NEW})


async def test_a_branch_in_the_way_with_commits_of_its_own_is_kept_without_force_and_kept_by_git_with_it(
    place,
):
    await place.must_change()
    git(place.path, "switch", "--quiet", "-c", "release")
    git(place.path, "commit", "--quiet", "--allow-empty", "-m", "mine")
    mine = place.head()
    git(place.path, "switch", "--quiet", "main")
    place.origin.commit(NEW, "release/1.0")
    assert await place.must_fail(revision="release/1.0") == f"{place.path} has commits that no server has"
    assert git(place.path, "rev-parse", "release") == mine
    said = await place.must_change(revision="release/1.0", force=True)
    assert said.endswith("discarded local commits")
    assert mine in git(place.path, "reflog", "--format=%H", "refs/reactor/discarded")


async def test_a_repository_of_sha256_is_cloned(tmp_path):
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", "server")
    git(tmp_path / "server", "commit", "--quiet", "--allow-empty", "-m", "first")
    place = Place(tmp_path / "app", SimpleNamespace(path=tmp_path / "server"))
    await place.must_change()
    assert place.head() == git(tmp_path / "server", "rev-parse", "HEAD")


async def test_a_tag_that_moved_to_a_commit_that_is_here_moves_here_too(place):
    place.origin.tag("v1")
    second = place.origin.commit(NEW)
    await place.must_change(revision="v1")
    await place.must_change(revision="main")
    git(place.origin.path, "tag", "--force", "v1", second)
    place.origin.commit({"README": "third\n"})
    await place.must_change(revision="v1")
    assert git(place.path, "rev-parse", "v1") == second


async def test_a_change_that_git_was_told_not_to_see_is_named_when_it_is_in_the_way(place):
    await place.must_change()
    git(place.path, "update-index", "--skip-worktree", "README")
    (place.path / "README").write_text("local\n")
    place.origin.commit({"README": "new\n"})
    result, said = await place.converge()
    assert (result, said.rpartition(" ")[2]) == (Result.FAILED, "README"), said
    assert (place.path / "README").read_text() == "local\n"


async def test_another_url_is_another_remote(place, tmp_path):
    await place.must_change()
    (tmp_path / "other").mkdir()
    other = Origin(tmp_path / "other")
    other.commit(NEW)
    said = await place.must_change(url=str(other.path))
    assert said.startswith(f"set the remote origin to {other.path}")
    assert git(place.path, "remote", "get-url", "origin") == str(other.path)
    assert place.files() == {**FILES, **NEW}


@pytest.mark.parametrize("change", ["write", "chmod", "stage", "add", "replace"])
async def test_local_changes_are_kept_without_force_and_a_dry_run_says_so(place, change):
    await place.must_change()
    readme = place.path / "README"
    match change:
        case "write":
            readme.write_text("mine\n")
        case "chmod":
            readme.chmod(0o755)
        case "stage":
            readme.write_text("mine\n")
            git(place.path, "add", "README")
        case "add":
            (place.path / "added").write_text("mine\n")
            git(place.path, "add", "added")
        case "replace":
            readme.unlink()
            readme.symlink_to("/etc/passwd")
    before = place.files(), readme.lstat().st_ino
    assert "has local changes: " in await place.must_fail()
    place.origin.commit(NEW)
    assert "has local changes: " in await place.must_fail()
    assert (place.files(), readme.lstat().st_ino) == before


async def test_with_force_changes_are_discarded_and_git_keeps_them(place):
    await place.must_change()
    (place.path / "README").write_text("mine\n")
    (place.path / "src/own").write_text("own\n")
    assert await place.must_change(force=True) == "discarded local changes of README"
    assert place.files() == {**FILES, "src/own": "own\n"}
    assert git(place.path, "show", "refs/reactor/discarded:README") == "mine"
    (place.path / "README").write_text("mine again\n")
    place.origin.commit(NEW)
    assert "discarded local changes of README" in await place.must_change(force=True)
    assert git(place.path, "show", "refs/reactor/discarded:README") == "mine again"
    assert git(place.path, "show", "refs/reactor/discarded@{1}:README") == "mine"


async def test_local_commits_are_kept_without_force(place):
    await place.must_change()
    (place.path / "README").write_text("mine\n")
    git(place.path, "commit", "--quiet", "--all", "-m", "mine")
    mine = place.head()
    assert "has commits that no server has" in await place.must_fail()
    place.origin.commit(NEW)
    assert "has commits that no server has" in await place.must_fail()
    assert place.head() == mine
    assert "local commits" in await place.must_change(force=True)
    assert git(place.path, "rev-parse", "refs/reactor/discarded") == mine
    assert place.files() == {**FILES, **NEW}


async def test_commits_of_the_branch_that_is_switched_to_are_kept(place):
    await place.must_change()
    git(place.path, "commit", "--quiet", "--allow-empty", "-m", "mine")
    git(place.path, "checkout", "--quiet", "--detach", place.origin.first)
    assert "has commits that no server has" in await place.must_fail()


async def test_a_deleted_file_comes_back_without_force(place):
    await place.must_change()
    (place.path / "README").unlink()
    assert await place.must_change() == "restored README"
    (place.path / "src/app.py").unlink()
    place.origin.commit(NEW)
    await place.must_change()
    assert place.files() == {**FILES, **NEW}


@pytest.mark.parametrize("is_fetched", [False, True])
async def test_a_file_in_the_way_stays_without_force_and_a_dry_run_says_so(place, is_fetched):
    await place.must_change()
    (place.path / "src/new").write_text("mine\n")
    (place.path / "a.log").write_text("ignored\n")
    place.origin.commit(NEW)
    if is_fetched:
        git(place.path, "fetch", "--quiet")
    before = place.files()
    assert "src/new" in await place.must_fail()
    assert place.files() == before
    await place.must_change(force=True)
    assert place.files() == {**FILES, **NEW, "a.log": "ignored\n"}


async def test_an_interrupted_update_is_completed(place):
    await place.must_change()
    new = place.origin.commit({**NEW, "src/data": "2\n"})
    git(place.path, "fetch", "--quiet")
    git(place.path, "update-ref", "refs/reactor/moving/next", new)
    (place.path / "README").write_text("hello ag")
    (place.path / "src/new").write_text("new\n")
    lock = place.path / ".git/index.lock"
    lock.touch()
    os.utime(lock, (time.time() + 3600, time.time() + 3600))  # young, however long it takes
    result, said = await place.converge()
    assert result is Result.FAILED
    assert "index.lock" in said
    os.utime(lock, (time.time() - 60, time.time() - 60))
    await place.must_change()
    assert place.files() == {**FILES, **NEW, "src/data": "2\n"}
    assert git(place.path, "for-each-ref", "refs/reactor/moving") == ""


async def test_what_an_interrupted_clone_left_is_removed(place):
    left = place.resource()._checkout.temporary
    os.makedirs(f"{left}/.git")
    await place.must_change()
    assert not os.path.exists(left)


async def test_a_failed_clone_leaves_nothing(place):
    said = await place.must_fail(revision="no-such-branch")
    assert said.startswith(f"{place.origin.path} has no branch or tag no-such-branch")
    result, _ = await place.converge(revision="0" * 40)
    assert result is Result.FAILED
    assert os.listdir(place.path.parent) == ["server"]


async def test_without_an_answer_of_the_server_the_checkout_stays(place, tmp_path):
    with state_directory_for(str(tmp_path / "state")):
        await place.must_change()
        place.origin.path.rename(place.origin.path.with_suffix(".away"))
        assert await place.converge() == (Result.OK, "")
        (place.path / "README").unlink()
        assert await place.converge() == (Result.CHANGED, "restored README")
        assert "ls-remote" in (await place.must_fail(revision="stable"))


@pytest.mark.parametrize("in_the_way", ["file", "link", "directory", "worktree"])
async def test_something_else_at_the_path_stays(place, in_the_way, tmp_path):
    match in_the_way:
        case "file":
            place.path.write_text("mine")
        case "link":
            (tmp_path / "elsewhere").mkdir()
            place.path.symlink_to(tmp_path / "elsewhere")
        case "directory":
            place.path.mkdir()
            (place.path / "mine").write_text("mine")
        case "worktree":
            git(place.origin.work, "worktree", "add", "--quiet", "-b", "other", place.path)
    for force in (False, True):
        assert "cannot manage it as a checkout" in await place.must_fail(force=force)


async def test_an_empty_directory_is_filled_and_keeps_its_mode(place):
    place.path.mkdir(0o750)
    await place.must_change()
    assert place.files() == FILES
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o750


async def test_a_checkout_with_something_of_its_own_is_only_removed_with_force(place):
    await place.must_change()
    (place.path / "mine").write_text("mine\n")
    assert "has local changes: mine" in await place.must_fail(ensure="absent")
    (place.path / "mine").unlink()
    git(place.path, "commit", "--quiet", "--allow-empty", "-m", "mine")
    assert "has commits that no server has" in await place.must_fail(ensure="absent")
    assert await place.must_change(ensure="absent", force=True) == "removed the checkout"
    assert not place.path.exists()


async def test_submodules_are_checked_out_and_follow(place, tmp_path):
    (tmp_path / "library").mkdir()
    library = Origin(tmp_path / "library")
    url = f"file://{library.path}"
    git(place.origin.work, "submodule", "--quiet", "add", url, "vendor/lib")
    place.origin.commit({})
    git(tmp_path, "config", "--file", tmp_path / ".gitconfig", "protocol.file.allow", "always")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reactor.resources.git.program._our_home", lambda: str(tmp_path))
        await place.must_change(submodules=True)
        assert place.files()["vendor/lib/README"] == "hello\n"
        library.commit(NEW)
        git(place.origin.work, "submodule", "--quiet", "update", "--remote", "vendor/lib")
        place.origin.commit({})
        await place.must_change(submodules=True)
        assert place.files()["vendor/lib/README"] == "hello again\n"
        (place.path / "vendor/lib/README").write_text("mine\n")
        assert "local changes: vendor/lib" in await place.must_fail(submodules=True)


async def test_without_submodules_their_directories_stay_empty(place, tmp_path):
    (tmp_path / "library").mkdir()
    git(
        place.origin.work, "submodule", "--quiet", "add", f"file://{Origin(tmp_path / 'library').path}", "lib"
    )
    place.origin.commit({})
    await place.must_change()
    assert os.listdir(place.path / "lib") == []


async def test_a_submodule_on_this_host_is_not_fetched_and_the_error_says_what_to_do(place, tmp_path):
    (tmp_path / "library").mkdir()
    git(place.origin.work, "submodule", "--quiet", "add", Origin(tmp_path / "library").path, "lib")
    place.origin.commit({})
    check = await checked(place.resource(submodules=True))
    assert (check.result, "write another URL into .gitmodules" in check.hint) == (Result.FAILED, True)
    assert not place.path.exists()


async def test_events_of_untracked_files_start_no_git(place):
    resource = place.resource(ref=place.origin.first)
    async with running(resource) as story:
        await story.converged()
        (place.path / "a.log").write_text("1")
        (place.path / "src" / "own").write_text("1")
        # The kernel may report late what else was written there, and git is asked then.
        for number in range(20):
            last, checks = resource._observer._last, len(story.checks(resource.ref))
            (place.path / "a.log").write_text(f"{number}")
            await story.until(lambda checks=checks: len(story.checks(resource.ref)) > checks)
            if last is not None and resource._observer._last is last:
                break
        else:
            raise AssertionError("git was asked each time")
        (place.path / "README").unlink()
        await story.until(lambda: place.files().get("README") == "hello\n")


async def test_a_commit_by_hand_is_noticed(place):
    resource = place.resource()
    async with running(resource) as story:
        await story.converged()
        git(place.path, "commit", "--quiet", "--allow-empty", "-m", "mine")
        await story.until(lambda: story.result(resource.ref) is Result.FAILED)


async def test_names_of_files_may_be_anything(place):
    strange = {"a\nb": "1\n", "100%d": "2\n", "häß lich": "3\n", '"quoted"': "4\n", "-x": "5\n"}
    place.origin.commit(strange)
    await place.must_change()
    assert place.files() == {**FILES, **strange}
    for name in strange:
        (place.path / name).write_text("mine\n")
    await place.must_fail()
    said = await place.must_change(force=True)
    assert said.startswith("discarded local changes of ")
    assert "and 2 more" in said
    assert place.files() == {**FILES, **strange}
    (place.path / "b\nc").write_text("mine\n")
    place.origin.commit({"b\nc": "theirs\n"})
    await place.must_fail()
    assert place.files()["b\nc"] == "mine\n"


async def test_line_ends_and_modes_of_the_repository_are_no_changes(place):
    place.origin.commit(
        {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "x\n", "empty": "", "no-end": "x"}
    )
    await place.must_change()
    assert (place.path / "a.txt").read_bytes() == b"x\r\n"
    for name in ("README", "empty"):
        os.utime(place.path / name, (1, 1))
    assert await place.converge() == (Result.OK, "")


async def test_a_checkout_that_was_made_by_hand_is_taken_over(place, tmp_path):
    git(tmp_path, "clone", "--quiet", place.origin.path, place.path)
    assert await place.converge() == (Result.OK, "")
    new = place.origin.commit(NEW)
    await place.must_change()
    assert place.head() == new


async def test_what_was_there_can_be_brought_back(place):
    await place.must_change()
    second = place.origin.commit(NEW)
    resource = place.resource()
    reversal = await resource.reversal(await resource.observe())
    await place.must_change()
    assert place.head() == second
    again = Git.model_validate_json(reversal.model_dump_json(exclude_unset=True, by_alias=True))
    state = await again.observe()
    for action in again.plan(state, refresh=False):
        await action.run()
    assert place.files() == FILES


def test_what_git_says_of_a_conflict_is_a_change():
    line = "u UU N... 100644 100644 100644 100644 " + " ".join(["a" * 40] * 3) + " a b"
    assert parse_status([line, "warning: something"]).changed == ("a b",)


async def test_a_long_list_of_changes_is_read_to_its_end(place):
    place.origin.commit({f"many/{'x' * 80}{number}": "1\n" for number in range(300)})
    await place.must_change()
    for path in (place.path / "many").iterdir():
        path.unlink()
    (place.path / ".gitignore").write_text("mine\n")
    assert "has local changes: .gitignore" in await place.must_fail()
    assert os.listdir(place.path / "many") == []


async def test_git_that_hangs_is_killed(place):
    result, said = await place.converge(url="ssh://127.0.0.1:1/x", timeout="5s")
    assert result is Result.FAILED
    assert "ls-remote" in said


async def test_a_cancelled_clone_leaves_nothing(place):
    resource = place.resource()
    state = await resource.observe()
    [action] = resource.plan(state, refresh=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(action.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert os.listdir(place.path.parent) == ["server"]


def _left(place, *names):
    """Locks that a git has left which was killed a minute ago."""
    for name in names:
        lock = place.path / f".git/{name}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
        os.utime(lock, (time.time() - 70, time.time() - 70))


async def _killed(place, monkeypatch, command, *locks, **properties):
    """A run in which git is killed at ``command``, halfway and with ``locks``."""
    ask = Program.ask

    async def killed(self, cwd, *arguments, **options):
        if arguments[: len(command)] != command:
            return await ask(self, cwd, *arguments, **options)
        (place.path / "README").write_text("hello ag")
        _left(place, *locks)
        raise ResourceError("killed by SIGKILL")

    with monkeypatch.context() as patch:
        patch.setattr(Program, "ask", killed)
        assert await place.converge(**properties) == (Result.FAILED, "killed by SIGKILL")


@pytest.mark.parametrize("locks", [("index",), ("HEAD", "refs/heads/main"), ("ORIG_HEAD",)])
async def test_what_a_git_that_was_killed_alone_has_begun_is_completed(place, monkeypatch, locks):
    await place.must_change()
    place.origin.commit(NEW)
    await _killed(place, monkeypatch, ("checkout",), *locks)
    await place.must_change()
    assert place.files() == {**FILES, **NEW}
    assert list((place.path / ".git").rglob("*.lock")) == []


@pytest.mark.parametrize(
    ("command", "lock"), [("stash", "index"), ("reset", "index"), ("reset", "HEAD"), ("update-ref", _KEPT)]
)
async def test_local_changes_are_discarded_though_git_was_killed_at_that(place, monkeypatch, command, lock):
    await place.must_change(force=True)
    (place.path / "src/data").write_text("mine\n")
    command = ("update-ref", "--create-reflog") if command == "update-ref" else (command,)
    await _killed(place, monkeypatch, command, lock, force=True)
    await place.must_change(force=True)
    assert place.files() == FILES
    assert git(place.path, "show", f"{_KEPT}:src/data") == "mine"
    assert list((place.path / ".git").rglob("*.lock")) == []


async def test_changes_that_git_can_not_keep_are_not_discarded(place, monkeypatch):
    await place.must_change(force=True)
    (place.path / "README").write_text("mine\n")
    ask = Program.ask

    async def failing(self, cwd, *arguments, **options):
        if arguments[:2] == ("stash", "create"):
            return Completed(1, "", "error: unable to write file: No space left on device", 0.0)
        return await ask(self, cwd, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Program, "ask", failing)
        result, said = await place.converge(force=True)
    assert result is Result.FAILED
    assert "git stash failed: error: unable to write file: No space left on device" in said
    assert (place.path / "README").read_text() == "mine\n"
    await place.must_change(force=True)
    assert git(place.path, "show", f"{_KEPT}:README") == "mine"


async def test_an_unfinished_merge_is_discarded(place):
    await place.must_change(force=True)
    git(place.path, "switch", "--quiet", "-c", "mine")
    for branch, text in (("mine", "mine\n"), ("main", "theirs\n")):
        git(place.path, "switch", "--quiet", branch)
        (place.path / "README").write_text(text)
        git(place.path, "commit", "--quiet", "-am", branch)
    with pytest.raises(AssertionError):
        git(place.path, "merge", "mine")
    await place.must_change(force=True)
    assert place.files() == FILES


@pytest.fixture
def with_module(place, tmp_path, monkeypatch):
    """The checkout has the submodule `lib`, a checkout of the `Origin` that this yields."""
    (tmp_path / "library").mkdir()
    library = Origin(tmp_path / "library")
    git(place.origin.work, "submodule", "--quiet", "add", f"file://{library.path}", "lib")
    place.origin.commit({})
    git(tmp_path, "config", "--file", tmp_path / ".gitconfig", "protocol.file.allow", "always")
    monkeypatch.setattr("reactor.resources.git.program._our_home", lambda: str(tmp_path))
    return library


@pytest.mark.parametrize("lock", ["index", "HEAD", "shallow", "config", "refs/remotes/origin/main"])
async def test_locks_in_a_submodule_of_a_killed_git_do_not_stay(place, with_module, monkeypatch, lock):
    await place.must_change(submodules=True)
    with_module.commit(NEW)
    git(place.origin.work, "submodule", "--quiet", "update", "--remote", "lib")
    place.origin.commit({})
    await _killed(
        place, monkeypatch, ("submodule", "--quiet", "update"), f"modules/lib/{lock}", submodules=True
    )
    await place.must_change(submodules=True)
    assert place.files()["lib/README"] == "hello again\n"
    assert list((place.path / ".git").rglob("*.lock")) == []


async def test_locks_of_a_git_that_was_killed_at_a_submodule_alone_do_not_stay(
    place, with_module, monkeypatch
):
    await place.must_change(submodules=True)
    git(place.path / "lib", "commit", "--quiet", "--allow-empty", "-m", "mine")
    await _killed(
        place, monkeypatch, ("submodule", "--quiet", "update"), "modules/lib/index", submodules=True
    )
    await place.must_change(submodules=True)
    assert list((place.path / ".git").rglob("*.lock")) == []


@pytest.mark.parametrize(
    "lock", ["refs/remotes/origin/main", "shallow", "refs/reactor/fetching", "packed-refs"]
)
async def test_a_killed_fetch_does_not_make_each_later_one_fail(place, monkeypatch, lock):
    await place.must_change(depth=1)
    place.origin.commit(NEW)
    await _killed(place, monkeypatch, ("fetch",), lock, depth=1)
    (place.path / "README").write_text(FILES["README"])
    await place.must_change(depth=1)
    assert place.files() == {**FILES, **NEW}
    assert list((place.path / ".git").rglob("*.lock")) == []
    assert git(place.path, "for-each-ref", "refs/reactor/fetching") == ""


async def test_the_lock_of_another_git_stays_however_old(place):
    await place.must_change(force=True)
    (place.path / "README").write_text("mine\n")
    _left(place, "index")
    for _ in range(2):
        result, said = await place.converge(force=True)
        assert result is Result.FAILED
        assert "index.lock" in said
    assert (place.path / ".git/index.lock").exists()
    assert git(place.path, "for-each-ref", "refs/reactor/moving") == ""


async def test_a_checkout_that_a_full_disk_has_stopped_halfway_is_completed(place, monkeypatch):
    await place.must_change()
    place.origin.commit(NEW)
    ask = Program.ask

    async def stopped(self, cwd, *arguments, **options):
        if arguments[0] != "checkout":
            return await ask(self, cwd, *arguments, **options)
        (place.path / "README").write_text("hello ag")
        return Completed(128, "", "fatal: unable to write file README: No space left on device", 0.0)

    with monkeypatch.context() as patch:
        patch.setattr(Program, "ask", stopped)
        assert (await place.converge())[0] is Result.FAILED
    await place.must_change()
    assert place.files() == {**FILES, **NEW}


async def test_a_checkout_says_that_it_has_only_the_pointers_of_git_lfs(place):
    place.origin.commit(
        {".gitattributes": "*.bin filter=lfs\n", "a.bin": "version 1\n", "b.bin": "version 1\n"}
    )
    async with running(place.resource()) as story:
        await story.converged()
    [line] = [event.line for event in story.all(Output) if "LFS" in event.line]
    assert ": a.bin and 1 more;" in line
    assert f"git lfs pull in {place.path}" in line
