"""A file system that does not answer fails what is below it, and nothing else waits for it."""

import math
import os
import signal
import subprocess
import sys
import threading
from itertools import islice

import pytest
from line_pipe import started
from mounts_worlds import OWN, a_file
from one_shot import checked
from pydantic import PrivateAttr
from served import GUARD, Served, served, until

from reactor import Action, PathWatch, Resource
from reactor.cli.running.loaded_files import Generation
from reactor.cli.running.reloading import Reloader
from reactor.engine.events import Cause, Result
from reactor.engine.options import RunOptions
from reactor.resource.mount_health import fragile_mounts
from reactor.resource.plan import ResourceError
from reactor.resources.apply import Apply
from reactor.resources.archive import Archive
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.resources.health.goss import Goss
from reactor.resources.health.goss.file import FileRule
from reactor.resources.health.goss.rules import Rules
from reactor.resources.health.goss.system import MountRule
from reactor.resources.mount import Mount
from reactor.resources.mount.comparison import is_same
from reactor.resources.mount.mount_table import Mounted
from reactor.resources.repository import Repository
from reactor.resources.scaffold import Scaffold
from reactor.resources.tidy import Tidy
from reactor.testing.story import converge_once, graph_of, running


@pytest.fixture(autouse=True)
def thawed(mount):
    """Let the server continue after a while: if the loop freezes, the test fails instead of hanging."""
    timer = threading.Timer(GUARD, mount.go_on)
    timer.start()
    yield
    assert timer.is_alive(), "something waited for the mount"
    timer.cancel()


def a_file_below(mount, local):
    return a_file(mount.point / "f")


def a_file_behind_a_symlink(mount, local):
    (local / "link").symlink_to(mount.point)
    return a_file(local / "link" / "f")


def a_symlink_to_a_file(mount, local):
    (local / "link").symlink_to(mount.point / "f")
    return a_file(local / "link", content=None)


def a_file_with_its_source_there(mount, local):
    return File(name=str(local / "copy"), ensure="present", source=str(mount.point / "f"), **OWN)


def the_mount_point_itself(mount, local):
    return File(name=str(mount.point), ensure="directory", **OWN)


def a_command_that_creates_something_there(mount, local):
    return Exec(name="true", creates=str(mount.point / "f"))


def a_command_that_runs_there(mount, local):
    return Exec(name="true", cwd=str(mount.point))


def a_program_that_is_there(mount, local):
    return Exec(name=f"{mount.point}/f")


def a_program_that_is_looked_for_there(mount, local):
    return Exec(name="true", path=f"{mount.point}:/usr/bin")


def a_scaffold_there(mount, local):
    (local / "templates").mkdir()
    return Scaffold(name=str(mount.point / "d"), ensure="present", source=str(local / "templates"))


def a_scaffold_from_there(mount, local):
    return Scaffold(name=str(local / "d"), ensure="present", source=str(mount.point))


def an_archive_that_is_unpacked_there(mount, local):
    return Archive(
        name=str(local / "a.tar.gz"), url="http://127.0.0.1:9/a.tar.gz", ensure="present",
        extract_parent=str(mount.point / "d"), owner=OWN["owner"], group=OWN["group"],
    )  # fmt: skip


def something_that_is_mounted_there(mount, local):
    return Mount(name=str(mount.point / "d"), ensure="unmounted", device="none", fstype="tmpfs")


def a_repository_whose_key_is_there(mount, local):
    url, key = "http://127.0.0.1:9", str(mount.point / "f")
    return Repository(name="dead", provider="apt", ensure="present", url=url, suites=["./"], key=key)


KINDS = [
    a_file_below, a_file_behind_a_symlink, a_symlink_to_a_file, a_file_with_its_source_there, the_mount_point_itself,
    a_command_that_creates_something_there, a_command_that_runs_there, a_program_that_is_there,
    a_program_that_is_looked_for_there, a_scaffold_there, a_scaffold_from_there, an_archive_that_is_unpacked_there,
    something_that_is_mounted_there, a_repository_whose_key_is_there,
]  # fmt: skip


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
async def test_what_looks_there_fails_and_names_the_mount_and_the_rest_converges(
    make, mount, short_mount_timeout, tmp_path
):
    resource, other = make(mount, tmp_path), a_file(tmp_path / "other")
    mount.stop()
    _, story = await converge_once(resource, other)
    checks = story.checks(resource.ref)
    assert checks
    for check in checks:  # the second is that of the end, for the other has changed something
        assert check.error == f"fuse at {mount.point} does not answer"
        assert (
            check.hint
            == f"restore {mount.source}, which serves it, or unmount it: umount --lazy {mount.point}"
        )
    assert story.result(other.ref) is Result.CHANGED
    assert (tmp_path / "other").read_text() == "x"


def a_command_that_creates_something(mount):
    return Exec(name=f"kill -STOP {mount.server}", creates=str(mount.point / "made"))


class Destroyer(Resource, kind="destroyer"):
    """Looks at a path, and stops its server."""

    ensure: str = "present"
    _mount: Served = PrivateAttr()

    def watches(self):
        yield PathWatch(self.name)

    async def observe(self):
        return os.stat(self.name)

    def plan(self, state, *, refresh):
        return (Action("Would have stopped it", "stopped it", self._stop),)

    async def _stop(self):
        self._mount.stop()


def a_kind_that_looks_whether_all_is_well_then(mount):
    destroyer = Destroyer(name=str(mount.point / "f"))
    destroyer._mount = mount
    return destroyer


@pytest.mark.parametrize(
    "make",
    [a_command_that_creates_something, a_kind_that_looks_whether_all_is_well_then],
    ids=lambda make: make.__name__,
)
async def test_a_mount_that_dies_while_something_is_changed_fails_that(
    make, mount, short_mount_timeout, monkeypatch
):
    monkeypatch.setattr("reactor.resource.mount_health.ANSWER_VALID_FOR", 0.0)
    resource = make(mount)
    check = await checked(resource)
    assert check.error == f"fuse at {mount.point} does not answer"


async def test_another_manifest_is_not_looked_for_there(mount, short_mount_timeout):
    resource, loads = Apply(name=str(mount.point / "child.yaml")), []
    resource.refuse("it does not exist", is_missing=True)
    mount.stop()

    async def load():
        loads.append(resource)

    async with running(resource) as story:
        story.engine.manifest_follower.renew = load
        await story.until(lambda: story.checks(resource.ref))
    assert not loads


async def test_a_manifest_that_is_there_is_not_looked_at_when_it_is_watched_again(mount):
    path = str(mount.point / "f")
    reloader = Reloader((path,), Generation(graph_of([]), RunOptions()), lambda: None, read_at=0)
    mount.stop()
    reloader._on_event(path)
    assert not reloader._wanted.is_set()


async def repaired(story, path):
    """Let a file drift, and wait for the repair. A check that began before may still run."""
    path.write_text("drifted")
    await story.until(lambda: path.read_text() == "x")


@pytest.fixture
def often(monkeypatch):
    """Files without events are checked often."""
    monkeypatch.setattr("reactor.watchers.inotify.POLL_INTERVAL", 0.05)


@pytest.fixture
def never(monkeypatch):
    """Files without events are not checked, also not while an earlier answer is still valid."""
    monkeypatch.setattr("reactor.watchers.inotify.POLL_INTERVAL", math.inf)


async def test_a_mount_that_dies_holds_nothing_up_and_is_converged_when_it_answers_again(
    mount, short_mount_timeout, never, tmp_path
):
    below, local = a_file(mount.point / "f", meta={"delay": "0.01s"}), a_file(tmp_path / "local")
    async with running(below, local) as story:
        await story.converged()
        assert (mount.source / "f").read_text() == "x"
        mount.stop()
        await until(lambda: fragile_mounts().unresponsive_reason(str(mount.point)))
        (mount.source / "f").write_text("drifted")
        story.drift(below.ref)
        await story.until(lambda: story.result(below.ref) is Result.FAILED)
        check = story.checks(below.ref)[-1]
        assert check.error == f"fuse at {mount.point} does not answer"
        assert check.retry_in is not None
        await repaired(story, tmp_path / "local")
        mount.go_on()
        await story.until(lambda: (mount.source / "f").read_text() == "x")
        await story.until(lambda: story.result(below.ref) in {Result.CHANGED, Result.OK})


@pytest.mark.parametrize("is_source", [False, True])
async def test_a_scaffold_with_a_dead_mount_in_it_fails_and_names_it(
    mount, short_mount_timeout, tmp_path, in_memory, is_source
):
    trees = [str(tmp_path), str(in_memory / "tree")]
    os.mkdir(trees[1])
    source, target = trees if is_source else trees[::-1]
    mount.stop()
    scaffold = Scaffold(name=target, ensure="present", source=source)
    _, story = await converge_once(scaffold)
    assert story.checks(scaffold.ref)[-1].error == f"fuse at {mount.point} does not answer"


async def test_a_tree_with_a_dead_mount_in_it_is_tidied_and_holds_nothing_up(
    mount, short_mount_timeout, tmp_path
):
    old = tmp_path / "old"
    old.touch()
    os.utime(old, (0, 0))
    mount.stop()
    async with running(Tidy(name=str(tmp_path), age="1d", recurse=True), a_file(tmp_path / "local")) as story:
        await story.converged()
        assert not old.exists()
        await repaired(story, tmp_path / "local")


async def test_a_tree_with_a_dead_mount_in_it_gets_its_modes_and_holds_nothing_up(
    mount, short_mount_timeout, tmp_path
):
    (tmp_path / "wrong").mkdir(mode=0o700)
    mount.stop()
    tree = File(name=str(tmp_path), ensure="directory", recurse=True, **(OWN | {"mode": "0755"}))
    async with running(tree, a_file(tmp_path / "local")) as story:
        await story.converged()
        assert (tmp_path / "wrong").stat().st_mode & 0o777 == 0o755
        await repaired(story, tmp_path / "local")


async def test_while_a_mount_is_dead_only_the_clock_asks_for_another_attempt(
    mount, short_mount_timeout, often
):
    below = a_file(mount.point / "f", meta={"delay": "0.2s"})
    mount.stop()
    async with running(below) as story:
        await story.until(lambda: len(story.checks(below.ref)) == 3)
        causes = [check.causes & ~Cause.INITIAL for check in story.checks(below.ref)]
        assert causes == [Cause(0), Cause.RETRY, Cause.RETRY]


async def test_a_mount_that_is_dead_from_the_start_is_watched_once_it_answers(
    mount, short_mount_timeout, often, tmp_path
):
    (tmp_path / "link").symlink_to(mount.point / "linked")
    (mount.source / "linked").mkdir()
    below = a_file(mount.point / "f")
    linked = File(name=str(tmp_path / "link"), ensure="directory", **OWN | {"mode": "0750"})
    local = a_file(tmp_path / "local")
    mount.stop()
    async with running(below, linked, local) as story:
        await story.until(lambda: story.result(local.ref) is Result.CHANGED)
        await story.until(lambda: story.result(below.ref) is story.result(linked.ref) is Result.FAILED)
        await repaired(story, tmp_path / "local")
        mount.go_on()
        await story.converged()
        await repaired(story, mount.point / "f")


async def test_a_rule_of_a_health_check_says_so_too(mount, short_mount_timeout):
    mount.stop()
    for rule in (FileRule(), MountRule(usage=0, timeout=10_000)):
        with pytest.raises(ResourceError, match="does not answer"):
            await rule.find(str(mount.point))
    with pytest.raises(ResourceError, match="does not answer"):
        await Goss().examine(Rules.model_validate({"gossfile": {f"{mount.point}/f": {}}}))


async def test_whether_a_directory_is_bound_is_not_waited_for(mount, short_mount_timeout, tmp_path):
    mount.stop()
    bound = Mounted("/dev/vda1", "ext4", frozenset())
    with pytest.raises(ResourceError, match="does not answer"):
        await is_same(str(mount.point), "none", frozenset({"bind"}), bound, str(tmp_path))


@pytest.fixture
def outer(mount, tmp_path):
    """A file system whose server hangs during a request once ``mount`` is dead: what waits for it can't be killed."""
    with served(tmp_path / "outer", mount.point) as outer:
        yield outer
        mount.go_on()


def reactor(*words, patience=0.3):
    """The program, in its own process."""
    start = f"import reactor.resource.mount_health as it; it.TIMEOUT = {patience}; from reactor.cli import main; main()"
    words = [sys.executable, "-c", start, *map(str, words)]
    return started(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture
def manifest(outer, tmp_path):
    own = ", ".join(f'{key}: "{value}"' for key, value in OWN.items())
    desired = {
        tmp_path / "local": "content: x",
        outer.point / "new": "content: x",
        tmp_path / "copy": f"source: {outer.point}/f",
    }
    lines = (f"      - {path}: {{ ensure: present, {value}, {own} }}\n" for path, value in desired.items())
    path = tmp_path / "manifest.yaml"
    path.write_text("".join(["resources:\n  - file:\n", *lines]))
    return path


def test_a_one_shot_run_ends_and_leaves_the_dead_mount_alone(manifest, mount, outer, tmp_path):
    with reactor("run", "--converge-once", manifest, patience=GUARD) as process:
        process.communicate(timeout=GUARD)
    assert process.returncode == 0
    (tmp_path / "local").write_text("drifted")
    mount.stop()
    with reactor("run", "--converge-once", manifest) as process:
        out, _ = process.communicate(timeout=GUARD)
    assert process.returncode == 1
    assert out.count(f"fuse at {outer.point} does not answer") >= len(("new", "copy"))
    assert (tmp_path / "local").read_text() == "x"


def test_what_others_take_from_a_file_there_is_not_looked_up(mount, tmp_path):
    own = ", ".join(f'{key}: "{value}"' for key, value in OWN.items())
    watched, taker = mount.point / "f", tmp_path / "taker"
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(
        f"resources:\n  - file:\n      - {watched}: {{ ensure: present, content: x, {own}, meta: {{ monitor_only: true }} }}\n"
        f"      - {taker}: {{ ensure: present, content: \"{{{{ output('file#{watched}').checksum }}}}\", {own} }}\n"
    )
    mount.stop()
    with reactor("run", "--converge-once", manifest) as process:
        out, _ = process.communicate(timeout=2 * GUARD)
    assert f"fuse at {mount.point} does not answer" in out
    assert not taker.exists()


def test_an_interrupt_ends_a_run_beside_a_dead_mount(manifest, mount):
    mount.stop()
    with reactor("run", manifest) as process:
        failures = (line for line in process.stdout if "  failed  " in line)
        assert len([*islice(failures, 2)]) == 2
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=GUARD)
    assert "failed 2" in out
    assert process.returncode == 1
