"""Second names, long ways, and kernels without openat2(2): what a stranger leads to is refused in each of them."""

import errno
import os
import stat
from pathlib import Path

import pytest
from descriptors import open_descriptors

from reactor.hostfs import (
    Attributes,
    open_content,
    open_directory,
    open_path,
    open_resolved,
    open_source,
    others_may_replace,
    refuse_foreign_link,
    remove_path,
    safe_open,
    write_file,
)
from reactor.hostfs.content import Inline
from reactor.resource.plan import ResourceError
from reactor.resources.container.host_paths import refuse_foreign_volumes
from reactor.resources.quadlet import Quadlet
from reactor.resources.quadlet.kind import QuadletState
from reactor.resources.scaffold import Scaffold, builder
from reactor.resources.service.state import UnitState
from reactor.resources.timer import Timer
from reactor.testing.story import converge_once
from reactor.trust.inputs import trust_owners

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

STRANGER = 12345
SECRET = "only root may read this"
THEIRS = Attributes(STRANGER, STRANGER, 0o644)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory of a stranger's, beside one of root's with a file that only root may read."""
    (tmp_path / "root").mkdir(0o700)
    (tmp_path / "root/app.conf").write_text(f"{SECRET}\n")
    (tmp_path / "root/app.conf").chmod(0o600)
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    return tmp_path / "home"


@pytest.fixture(params=["openat2", "step by step"])
def way(request, monkeypatch):
    """With openat2(2), and as on a kernel that has none."""
    if request.param == "step by step":
        monkeypatch.setattr(safe_open, "_open_straight", lambda _path, _flags: None)


@pytest.mark.parametrize(("mode", "group"), [(0o1777, 0), (0o775, STRANGER), (0o2775, STRANGER)])
def test_a_hard_link_in_a_shared_directory_of_root_is_not_given_away(reactor, manifest, home, mode, group):
    shared = home.parent / "shared"
    shared.mkdir()
    os.chown(shared, 0, group)
    shared.chmod(mode)
    os.link(home.parent / "root/app.conf", shared / "app.conf")
    text = f'{{ensure: present, owner: "{STRANGER}", group: "{STRANGER}", mode: "0644", meta: {{reverse: true}}}}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{shared}/app.conf: {text}}}]]"))
    assert "has 2 hard links, and users other than root can write to its directory" in done.out + done.err
    assert done.code != 0
    found = (home.parent / "root/app.conf").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o600)


def test_the_link_of_a_colleague_in_a_directory_of_their_group_is_not_taken_for_the_owners(home):
    home.chmod(0o775)
    (home / "secret").write_text(SECRET)
    os.chown(home / "secret", STRANGER, STRANGER)
    os.link(home / "secret", home / "app.conf")
    with pytest.raises(ResourceError, match="hard links"):
        open_content(str(home / "app.conf"))
    home.chmod(0o755)
    os.close(open_content(str(home / "app.conf")))


def test_a_symlink_of_root_does_not_vouch_for_a_hard_link_it_leads_to(reactor, manifest, home, tmp_path):
    os.link(home.parent / "root/app.conf", home / "app.conf")
    (home.parent / "root/link").symlink_to(home / "app.conf")
    properties = f'ensure: present, owner: "0", group: "0", mode: "0644", source: {home.parent}/root/link'
    done = reactor(
        "run",
        "--converge-once",
        "--diff",
        manifest(f"resources: [file: [{{{tmp_path}/copy: {{{properties}}}}}]]"),
    )
    assert SECRET not in done.out + done.err
    assert not (tmp_path / "copy").exists()
    assert "hard links" in done.out + done.err


def test_a_directory_of_root_that_takes_the_place_of_the_strangers_does_not_vouch_for_a_link_in_theirs(home):
    for name in ("conf", "ours"):
        (home / name).mkdir()
    (home / "ours/app.conf").write_text("root's")
    os.chown(home / "conf", STRANGER, STRANGER)
    os.link(home.parent / "root/app.conf", home / "conf/app.conf")
    fd = open_path(str(home / "conf/app.conf"), os.O_RDONLY)
    (home / "conf").rename(home / "away")
    (home / "ours").rename(home / "conf")
    with pytest.raises(ResourceError, match="hard links"):
        refuse_foreign_link(fd, str(home / "conf/app.conf"))
    os.close(fd)


def test_what_a_hard_link_leads_to_is_not_kept_under_the_name_of_a_stranger(
    reactor, manifest, home, state_directory
):
    os.link(home.parent / "root/app.conf", home / "app.conf")
    text = f'{{ensure: present, owner: "{STRANGER}", group: "{STRANGER}", mode: "0644", content: theirs}}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{home}/app.conf: {text}}}]]"))
    assert done.code == 0
    assert (home / "app.conf").read_text() == "theirs"
    assert f"no backup of {home}/app.conf: " in done.out + done.err
    kept = [each.read_bytes() for each in Path(state_directory).rglob("*") if each.is_file()]
    assert not any(SECRET.encode() in each for each in kept)
    assert not any(each.startswith(b"\x28\xb5\x2f\xfd") for each in kept), "nor in a compressed form"


class Judge:
    """Tells where the candidate is and whose its neighbours may be, and does what a stranger would do then."""

    def __init__(self, meanwhile=None):
        self.seen = []
        self._meanwhile = meanwhile

    async def approve(self, candidate, path):
        if self._meanwhile is not None:
            self._meanwhile(candidate)
        above = Path(candidate).parent.stat()
        self.seen.append((Path(candidate).read_text(), above.st_uid, stat.S_IMODE(above.st_mode)))


async def test_content_in_a_directory_of_root_below_a_strangers_is_judged_out_of_their_reach(home):
    ours = home / "ours"
    ours.mkdir(0o755)

    def swap(_candidate):
        (name,) = [name for name in os.listdir(ours) if ".reactor" in name]
        (home / "forged").mkdir()
        (home / "forged" / name).write_text("forged")
        ours.rename(home / "away")
        (home / "forged").rename(ours)

    judge = Judge(swap)
    await write_file(str(ours / "site.conf"), Inline("ours"), Attributes(0, 0, 0o644), judge)
    assert judge.seen == [("ours", 0, 0o700)]


@pytest.mark.parametrize("attributes", [THEIRS, Attributes(0, 0, 0o666)])
async def test_content_that_becomes_theirs_is_judged_out_of_their_reach_before_it_does(home, attributes):
    directory, owners = home.parent / "etc", []
    directory.mkdir(0o755)

    def look(_candidate):
        found = [path.stat() for path in directory.iterdir() if ".reactor" in path.name]
        owners.extend((each.st_uid, stat.S_IMODE(each.st_mode) & 0o022) for each in found)

    judge = Judge(look)
    await write_file(str(directory / "site.conf"), Inline("ours"), attributes, judge)
    assert judge.seen == [("ours", 0, 0o700)]
    assert owners == [(0, 0)]
    found = (directory / "site.conf").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == attributes


async def test_the_temporary_file_that_was_written_is_the_one_that_is_given_away_and_judged(
    home, monkeypatch
):
    """The stranger replaces it by name as soon as it is written."""

    class Replacing(Inline):
        async def copy_to(self, fd):
            await super().copy_to(fd)
            (name,) = [name for name in os.listdir(home) if ".reactor" in name]
            (home / name).unlink()
            os.link(home.parent / "root/app.conf", home / name)

    judge = Judge()
    await write_file(str(home / "site.conf"), Replacing("ours"), THEIRS, judge)
    assert judge.seen == [("ours", 0, 0o700)]
    found = (home.parent / "root/app.conf").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o600)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("open_it", [open_directory, open_path, open_resolved, open_source, open_content])
def test_every_way_to_open_refuses_a_strangers_symlink_and_leaks_no_descriptor(home, open_it):
    (home / "conf").symlink_to("../root")
    os.lchown(home / "conf", STRANGER, STRANGER)
    (home / "loop").symlink_to("loop")
    before = open_descriptors()
    below = "conf" if open_it is open_directory else "conf/app.conf"
    with pytest.raises(ResourceError, match="refusing to follow it"):
        open_it(str(home / below))
    wrong = [home / "loop/x", home / "missing/x", Path(f"{home}/{'d/' * 1900}x"), home / ("x" * 300)]
    for path in (*wrong, Path(f"{home}/{'d' * 200}/" * 21)):
        with pytest.raises(OSError):
            open_it(str(path))
    os.close(open_it(str(home.parent / ("root" if open_it is open_directory else "root/app.conf"))))
    assert open_descriptors() <= before


@pytest.mark.usefixtures("way")
def test_a_file_may_be_reached_by_the_paths_of_descriptors_only_as_what_they_are(home):
    secret = os.open(home.parent / "root", os.O_RDONLY)
    fd = open_path(f"/proc/self/fd/{secret}/app.conf", os.O_RDONLY)
    assert os.path.samestat(os.fstat(fd), (home.parent / "root/app.conf").stat())
    os.close(fd)
    read, write = os.pipe()
    with pytest.raises(OSError):
        open_path(f"/proc/self/fd/{read}/x")
    for each in (secret, read, write):
        os.close(each)


def test_symlinks_that_ask_for_ten_thousands_of_steps_are_not_followed(home):
    """The kernel would follow them: 40 symlinks, each with as long a target as there can be."""
    (home / "d").mkdir()
    (home / "l0").symlink_to("../root")
    for number in range(1, 39):
        (home / f"l{number}").symlink_to("d/../" * 800 + f"l{number - 1}")
    taken, opened = [], os.open

    def counting(*args, **options):
        taken.append(args)
        return opened(*args, **options)

    safe_open.os.open = counting
    try:
        with pytest.raises(OSError) as caught:
            open_resolved(str(home / "l38"))
    finally:
        safe_open.os.open = opened
    assert caught.value.errno == errno.ELOOP
    assert len(taken) < 5000


def test_whether_a_name_can_be_changed_is_reported_up_to_the_root_and_leaks_no_descriptor(home, tmp_path):
    (home / "ours/deep").mkdir(parents=True)
    before = open_descriptors()
    for path, expected in ((home / "ours/deep", True), (home / "ours", True), (Path("/etc"), False)):
        fd = os.open(path, os.O_PATH)
        assert others_may_replace(fd, "missing") is expected
        assert others_may_replace(fd, ".") is expected
        os.close(fd)
    with pytest.raises(OSError):
        others_may_replace(10**6, "x")
    assert open_descriptors() <= before


def test_a_health_check_reports_nothing_of_what_a_strangers_symlink_leads_to(
    reactor, manifest, home, tmp_path
):
    (home / "conf").symlink_to("../root")
    os.lchown(home / "conf", STRANGER, STRANGER)
    rules = f"{{file: {{{home}/conf/app.conf: {{exists: true, size: 1, mode: '1'}}}}}}"
    path = manifest(
        f"resources: [file: [{{{tmp_path}/f: {{ensure: present, {{own}}, content: x, health_checks: [{{goss_rules: {rules}}}]}}}}]]"
    )
    done = reactor("run", "--converge-once", path)
    assert "0600" not in done.out + done.err
    assert "refusing to follow it" in done.out + done.err


async def test_podman_is_given_no_file_of_variables_that_a_stranger_can_make_lead_elsewhere(home):
    (home / "app.env").symlink_to("../root/app.conf")
    web = Quadlet(name="web", image="example.com/web:1", environment_files=[str(home / "app.env")])
    with pytest.raises(ResourceError, match="another user can change which file podman reads as root"):
        await web.preflight(QuadletState(None, UnitState("not-found", "inactive", "dead")))


async def test_a_scaffold_removes_its_own_directory_only(home, tmp_path, monkeypatch):
    """The stranger acts when the last file in it has gone."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/a").write_text("x")
    scaffold = Scaffold(name=f"{home}/out", ensure="present", source=f"{tmp_path}/templates")
    await converge_once(scaffold)
    gone = Scaffold(name=f"{home}/out", ensure="absent", source=f"{tmp_path}/templates")
    (home.parent / "root/out").mkdir()

    async def exchanging(path, **options):
        await remove_path(path, **options)
        home.rename(home.parent / "away")
        home.symlink_to("root")
        os.lchown(home, STRANGER, STRANGER)

    monkeypatch.setattr(builder, "remove_path", exchanging)
    await converge_once(gone)
    assert not (home.parent / "away/out/a").exists()
    assert (home.parent / "root/out").is_dir()


async def test_podman_mounts_nothing_that_a_stranger_could_exchange(home):
    (home / "data").mkdir()
    for name in ("data", "missing"):
        web = Quadlet(name="web", image="example.com/web:1", volumes=[f"{home}/{name}:/data"])
        with pytest.raises(
            ResourceError, match="another user can change what of the host is in the container"
        ):
            await web.observe()
    await refuse_foreign_volumes(
        [f"{home}:/data", f"{home.parent}/root:/root", f"{home.parent}/missing:/missing"]
    )
    with trust_owners([STRANGER]):
        await refuse_foreign_volumes([f"{home}/data:/data"])


async def test_systemd_starts_no_command_of_root_in_a_directory_that_a_stranger_could_exchange(home):
    (home / "app").mkdir()
    properties = {"command": "/usr/bin/find . -delete", "on_calendar": "daily"}
    timer = Timer(name="tidy", cwd=str(home / "app"), **properties)
    with pytest.raises(ResourceError, match="another user can change where systemd starts a command of root"):
        await timer.observe()


@pytest.mark.parametrize("what", ["directory", "symlink"])
async def test_in_a_directory_for_all_a_volume_must_be_of_root(home, what):
    shared = home.parent / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    if what == "directory":
        (shared / "data").mkdir()
    else:
        (shared / "data").symlink_to(home.parent / "root")
    await refuse_foreign_volumes([f"{shared}/data:/data"])
    os.lchown(shared / "data", STRANGER, STRANGER)
    with pytest.raises(ResourceError, match="another user can change what of the host"):
        await refuse_foreign_volumes([f"{shared}/data:/data"])


@pytest.fixture(params=["home", "shared"])
def moved(request, home) -> Path:
    """A symlink of root to its directory, where a user may rename it: in their directory, or in one of their group."""
    where = home
    if request.param == "shared":
        (where := home.parent / "shared").mkdir()
        os.chown(where, 0, STRANGER)
        where.chmod(0o2775)
    (where / "current").symlink_to(home.parent / "root")
    (where / "current").rename(where / "conf")
    return where / "conf"


def test_a_symlink_of_root_that_another_user_may_have_moved_leads_nowhere(reactor, manifest, moved, way):
    wanted = f'{{ensure: present, owner: "{STRANGER}", group: "{STRANGER}", mode: "0644"}}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{moved}/app.conf: {wanted}}}]]"))
    assert "may have put there, into a directory of root; refusing to follow it" in done.out
    found = (moved.resolve() / "app.conf").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o600)


def test_a_symlink_of_root_is_followed_to_what_belongs_to_the_owner_of_its_directory(home, way):
    (home / "releases").mkdir()
    os.chown(home / "releases", STRANGER, STRANGER)
    (home / "current").symlink_to("releases")
    os.close(open_directory(str(home / "current")))


def test_a_symlink_of_root_in_a_sticky_directory_is_followed(home, way):
    (sticky := home.parent / "sticky").mkdir()
    sticky.chmod(0o1777)
    (sticky / "current").symlink_to(home.parent / "root")
    os.close(open_directory(str(sticky / "current")))
