"""Bundles: the same bytes everywhere, refused whole or unpacked whole, and switched by one rename."""

import io
import os
import signal
import tarfile
from pathlib import Path

import pytest
import zstandard
from killed_steps import killed_before_step

from reactor.fleet.bundle.channel import Channel
from reactor.fleet.bundle.digest import digest_of, is_digest
from reactor.fleet.bundle.errors import BundleError, PackingError
from reactor.fleet.bundle.limits import BundleLimits
from reactor.fleet.bundle.pack import pack
from reactor.fleet.bundle.store import BundleStore, StoreLockedError
from reactor.unpacking.tree import link_stays_inside


@pytest.fixture
def site(tmp_path):
    made = tmp_path / "site"
    (made / "files").mkdir(parents=True)
    (made / "manifest.yaml").write_text("resources: []\n")
    (made / "files/motd").write_text("hello\n" * 100)
    (made / "files/tool").write_text("#!/bin/sh\n")
    (made / "files/tool").chmod(0o700)
    (made / "files/current").symlink_to("../files/motd")
    (made / "empty").mkdir()
    return made


@pytest.fixture
def store(tmp_path):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    return BundleStore(str(state))


def kept(store, data, digest=None, size=None):
    """Take these bytes as a bundle; return its place."""
    digest = digest or digest_of(data)
    with store.locked(), store.unpacked(io.BytesIO(data), digest, size or len(data)) as directory:
        return store.keep(directory, digest)


def tar_of(*members):
    """A tar with these members, and a manifest."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        manifest = tarfile.TarInfo("manifest.yaml")
        tar.addfile(manifest)
        for info in members:
            tar.addfile(info)
    return buffer.getvalue()


def member(name, kind=tarfile.REGTYPE, target=""):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def test_the_same_files_give_the_same_bytes_whatever_their_times_owners_and_order(site, tmp_path):
    first = pack(str(site))
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("empty", "files"):
        (copy / name).mkdir(mode=0o750)
    (copy / "files/current").symlink_to("../files/motd")
    for name in ("manifest.yaml", "files/tool", "files/motd"):
        (copy / name).write_bytes((site / name).read_bytes())
        os.utime(copy / name, (1, 1))
    (copy / "files/tool").chmod(0o755)
    (copy / "files/motd").chmod(0o600)
    if os.geteuid() == 0:
        os.chown(copy / "files/motd", 1234, 1234)
    (copy / ".git").mkdir()
    (copy / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert pack(str(copy)) == first
    assert is_digest(first.digest)
    assert first.members == 6


def test_a_bundle_is_unpacked_as_it_was_packed(site, store):
    bundle = pack(str(site))
    place = kept(store, bundle.data)
    assert os.path.basename(place) == bundle.digest
    assert pack(place) == bundle
    assert os.readlink(f"{place}/files/current") == "../files/motd"
    assert os.listdir(os.path.join(store.root, "tmp")) == []


def test_any_other_byte_makes_another_bundle(site):
    before = pack(str(site)).digest
    (site / "files/tool").chmod(0o600)
    assert pack(str(site)).digest != before


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda site: (site / "manifest.yaml").unlink(), "has no manifest.yaml"),
        (lambda site: (site / "out").symlink_to("/etc/passwd"), "is a link that leaves the directory"),
        (lambda site: (site / "out").symlink_to("../other"), "is a link that leaves the directory"),
        (lambda site: os.mkfifo(site / "pipe"), "is neither file, directory nor link"),
        (lambda site: os.mkdir(os.fsencode(site) + b"/\xff"), "is not UTF-8"),
        (lambda site: (site / "large").write_bytes(os.urandom(200_000)), "at most 97.7 KiB are allowed"),
        (
            lambda site: (site / "larger").write_bytes(bytes(2_000_000)),
            "larger is too large for a bundle: 1.91 MiB",
        ),
        (lambda site: [(site / f"f{number}").touch() for number in range(20)], "has more than 20 files"),
    ],
)
def test_what_can_not_be_on_every_host_is_not_packed(site, make, said):
    make(site)
    with pytest.raises(PackingError, match=said):
        pack(str(site), BundleLimits(packed=100_000, unpacked=1_000_000, members=20))


def test_a_file_that_the_opener_refuses_is_not_packed(site):
    def refuse(path, flags):
        raise PermissionError(13, "others can change it", path)

    with pytest.raises(PermissionError, match="others can change it"):
        pack(str(site), opener=refuse)


@pytest.mark.parametrize(
    "data",
    [
        tar_of(member("../out")),
        tar_of(member("/etc/out")),
        tar_of(member("link", tarfile.SYMTYPE, "/etc")),
        tar_of(member("link", tarfile.SYMTYPE, "..")),
        tar_of(member("hard", tarfile.LNKTYPE, "/etc/passwd")),
        tar_of(member("device", tarfile.CHRTYPE)),
        tar_of(member("pipe", tarfile.FIFOTYPE)),
        tar_of(member("a"), member("a")),
        tar_of()[:300],
        b"\x28\xb5\x2f\xfd" + b"garbage" * 20,
        b"no archive at all",
    ],
)
def test_a_hostile_or_damaged_bundle_leaves_nothing_behind(store, tmp_path, data):
    with pytest.raises(BundleError):
        kept(store, data)
    assert os.listdir(os.path.join(store.root, "bundles")) == []
    assert os.listdir(os.path.join(store.root, "tmp")) == []
    assert not (tmp_path / "out").exists()


def test_a_bomb_is_refused(store):
    bomb = tarfile.TarInfo("zeros")
    bomb.size = 80 << 20
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("manifest.yaml"))
        tar.addfile(bomb, io.BytesIO(bytes(bomb.size)))
    with pytest.raises(BundleError, match="times its size"):
        kept(store, zstandard.ZstdCompressor().compress(buffer.getvalue()))
    assert os.listdir(os.path.join(store.root, "bundles")) == []


def test_a_bundle_that_breaks_off_or_has_another_digest_is_refused(site, store):
    bundle = pack(str(site))
    with pytest.raises(BundleError, match="broke off after 100 of"):
        kept(store, bundle.data[:100], bundle.digest, len(bundle.data))
    with pytest.raises(BundleError, match="was announced"):
        kept(store, bundle.data, digest_of(b"another"))
    with pytest.raises(BundleError, match="is not the name of a bundle"):
        kept(store, bundle.data, "../../etc")
    with pytest.raises(BundleError, match="are allowed"):
        kept(store, bundle.data, bundle.digest, 1 << 40)
    assert os.listdir(os.path.join(store.root, "bundles")) == []


def test_one_process_at_a_time_changes_the_bundles(store):
    with store.locked():
        assert os.path.isdir(store.root)
        with pytest.raises(StoreLockedError, match="another push"), store.locked():
            pass


def test_a_link_in_place_of_a_directory_is_refused(store, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", store.root)
    with pytest.raises(NotADirectoryError), store.locked():
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.fixture
def three(tmp_path, store):
    """The digests of three bundles that the store keeps."""
    digests = []
    for number in range(3):
        made = tmp_path / f"site{number}"
        made.mkdir()
        (made / "manifest.yaml").write_text(f"# {number}\nresources: []\n")
        bundle = pack(str(made))
        os.utime(kept(store, bundle.data), (number, number))  # two may have the same time
        digests.append(bundle.digest)
    return digests


def test_a_switch_makes_the_bundle_in_force_the_one_before(store, three):
    channel = Channel(store, "push")
    assert (channel.current, channel.previous, channel.facts) == (None, None, None)
    assert channel.switch(three[0], {"fleet": {"groups": []}})
    assert (channel.current, channel.previous) == (three[0], None)
    assert channel.switch(three[1], {"fleet": {"groups": ["web"]}})
    assert (channel.current, channel.previous) == (three[1], three[0])
    assert channel.facts == {"fleet": {"groups": ["web"]}}
    assert Path(channel.current_path, "manifest.yaml").read_text().startswith("# 1")
    assert Path(channel.path, "previous/manifest.yaml").read_text().startswith("# 0")
    assert os.stat(channel.facts_path).st_mode & 0o777 == 0o600


def test_the_same_bundle_again_changes_nothing_and_keeps_the_one_before(store, three):
    channel = Channel(store, "push")
    channel.switch(three[0], {})
    channel.switch(three[1], {})
    link = os.lstat(f"{channel.path}/now")
    assert not channel.switch(three[1], {})
    assert os.path.samestat(link, os.lstat(f"{channel.path}/now"))
    assert channel.switch(three[1], {"new": 1})
    assert (channel.current, channel.previous) == (three[1], three[0])


def test_what_no_channel_has_is_removed_but_one(store, three):
    Channel(store, "web").switch(three[1], {})
    with store.locked():
        store.remove_unused(spare=1)
        assert sorted(os.listdir(f"{store.root}/bundles")) == sorted(three[1:])
        store.remove_unused(spare=0)
    assert os.listdir(f"{store.root}/bundles") == [three[1]]


def test_only_a_kept_bundle_comes_into_force(store, three):
    channel = Channel(store, "push")
    channel.switch(three[0], {})
    with pytest.raises(BundleError, match="has no bundle"):
        channel.switch(digest_of(b"never sent"), {})
    assert channel.current == three[0]


def test_a_process_killed_at_any_step_leaves_the_old_bundle_or_the_new_one(site, store):
    old = pack(str(site))
    kept(store, old.data)
    channel = Channel(store, "push")
    channel.switch(old.digest, {"of": old.digest})
    (site / "files/motd").write_text("new\n")
    new = pack(str(site))

    def push():
        with store.locked():
            with store.unpacked(io.BytesIO(new.data), new.digest, len(new.data)) as directory:
                store.keep(directory, new.digest)
            channel.switch(new.digest, {"of": new.digest})
            store.remove_unused(spare=0)

    seen = set()
    for fatal in range(1, 200):
        code = killed_before_step(fatal, push)
        in_force = channel.current
        seen.add(in_force)
        assert channel.facts == {"of": in_force}
        for name in os.listdir(f"{store.root}/bundles"):
            assert pack(f"{store.root}/bundles/{name}").digest == name
        if in_force == new.digest:
            assert channel.previous == old.digest
            channel.switch(old.digest, {"of": old.digest})
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert fatal > 15
    assert seen == {old.digest, new.digest}
    assert os.listdir(f"{store.root}/tmp") == []


def test_links_stay_inside_by_the_rule_of_unpacking():
    assert link_stays_inside("../files/motd", depth=1)
    assert not link_stays_inside("../files/motd", depth=0)
    assert not link_stays_inside("a/../../b", depth=1)


def test_a_sparse_file_is_refused_before_it_is_read(site):
    (site / "sparse").touch()
    os.truncate(site / "sparse", 1 << 42)
    with pytest.raises(PackingError, match="sparse is too large for a bundle"):
        pack(str(site))


def test_a_tree_that_no_host_would_unpack_is_refused(site):
    deep = site / "/".join(["d"] * 99)
    deep.mkdir(parents=True)
    pack(str(site))
    (deep / "e/f").mkdir(parents=True)
    with pytest.raises(PackingError, match="more than 100 directories deep"):
        pack(str(site))


def test_a_bundle_with_odd_names_arrives_as_it_is(site, store):
    names = ["a\nb", "x" * 255, "ü 漢", " -rf ", "%n'\"\\"]
    for name in names:
        (site / name).write_text(name)
    os.link(site / names[0], site / "linked")
    bundle = pack(str(site))
    place = kept(store, bundle.data)
    assert {name: Path(place, name).read_text() for name in names} == {name: name for name in names}
    assert Path(place, "linked").read_text() == names[0]


def test_the_limits_can_be_raised_for_a_larger_bundle():
    limits = BundleLimits(packed=10, unpacked=100)
    assert limits.raised_for(5) == limits
    assert limits.raised_for(50) == BundleLimits(packed=50, unpacked=400)
