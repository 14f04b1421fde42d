"""Further attacks that need a race: on archives, links of root, held files, caches and state directories."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import trio
from archive_server import ArchiveServer
from archive_worlds import FILES, make, sha256, tar_of
from races import _OWN, _ROOT, FORGED_TAR, Words, archives_exchanged, file, race, turns
from victims import FORGED, STRANGER, World, check

from reactor.journal.state_directory import StateDirectory, StateDirectoryError
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError
from reactor.resource.plan import ResourceError
from reactor.resources.file import File
from reactor.resources.ssh.known_host import KnownHost
from reactor.resources.tidy import Tidy

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG0lz3NMSaHdJz5Nj6tfW9uNEJnsBej9x8HXNHd2SKtz"


def vouch(path: Path, url: str, etag: str) -> None:
    """Write on an archive what reactor once wrote on those that it had fetched."""
    origin = {"url": hashlib.sha256(url.encode()).hexdigest()[:32], "etag": etag, "last_modified": ""}
    os.setxattr(
        path, "user.reactor.origin", json.dumps({**origin, "checksum": sha256(path.read_bytes())}).encode()
    )


@race("known_host: lines of a file below a swapped parent")
async def lines_of_a_file(world):
    """All kinds that own single lines read and write them in the same way."""
    for name in turns(["git.example.com", "web.example.com"]):
        world.give("app.conf", f"{FORGED}\nweb.example.com {_KEY}\n")
        yield
        known = KnownHost(name=name, key=_KEY.replace("3NMS", "SMN3"), path=str(world.home / "conf/app.conf"))
        await world.attempt(lambda known=known: check(world, known))


@race("archive: vouches for itself", archives_exchanged)
async def archive_vouching(world):
    good, run = tar_of(FILES, "w"), world.top / "opt/app/bin/run"
    with ArchiveServer() as server:
        server.serve(good)
        url = server.url(name="app.tar")
        into = {"extract_parent": str(world.top / "opt"), "creates": str(run)}
        for owner in turns([_OWN, {"owner": "0", "group": "0"}]):
            made = make(world.home / "app.tar", url, **into, **owner)
            for name, data in (("app.tar", good), ("forged.tar", FORGED_TAR)):
                new = world.home / "being-made"
                new.write_bytes(data)
                vouch(new, url, server.etag)
                os.chown(new, STRANGER, STRANGER)
                with suppress(OSError):
                    new.replace(world.home / name)
            yield
            for _ in range(2):  # once more, with what is kept of the first
                run.unlink(missing_ok=True)
                await world.attempt(lambda made=made: check(world, made))
                world.holds_forged(run)


def against_linked_symlink(world: World) -> list[Words]:
    """Root has a symlink to its directory, and the attacker a hard link to that: fs.protected_hardlinks=0 allows it."""
    (world.top / "of-root").symlink_to("root")
    os.link(world.top / "of-root", world.top / "moved", follow_symlinks=False)
    (world.top / "moved").replace(world.home / "evil")
    return [("exchange", *world.swapped)]


@race("file: below a symlink of root that was hard-linked", against_linked_symlink)
async def linked_symlink(world):
    (world.home / "root").symlink_to("../root")  # where the relative target leads from there
    os.lchown(world.home / "root", STRANGER, STRANGER)
    for text in turns(["one", "two"]):
        world.give("app.conf", "theirs")
        yield
        await world.attempt(lambda text=text: check(world, file(world, content=text, mode="0600", **_OWN)))
        await world.attempt(
            lambda text=text: check(world, file(world, content=text, mode="0600", **_OWN), act=False)
        )


def holder(world: World) -> list[Words]:
    return [("hold", world.top / "etc/app.conf")]


@race("file: taken over while its former owner holds it open", holder)
async def held_file(world):
    path = world.top / "etc/app.conf"
    for text in turns(["root one, which is long enough", "root two, which is long enough"]):
        path.write_text(text)
        os.chown(path, STRANGER, STRANGER)
        yield
        wanted = File(name=str(path), ensure="present", content=text, **_ROOT)
        await world.attempt(lambda wanted=wanted: check(world, wanted))
        if path.stat().st_uid == 0:
            world.holds_forged(path)
            os.sched_yield()
            world.holds_forged(path)


def claimed(world: World, name: str) -> list[Words]:
    shared = world.top / "shared"
    return [("claim", shared / name, world.root, shared / "forged")]


def shared_directory(world: World) -> Path:
    """A directory like /tmp, with one of the stranger that has what they want root to take."""
    shared = world.top / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "forged").mkdir()
    return shared


@race("cache: its directory claimed by another user", lambda world: claimed(world, "cache"))
async def claimed_cache(world):
    shared = shared_directory(world)
    text = "resources: [{exec: [{mark: {command: /bin/echo %s}}]}]\n"
    with ArchiveServer() as server:
        server.serve(tar_of({"manifest.yaml": (text % "good").encode()}))
        url = server.url(name="site.tar.gz")
        kept = shared / "forged" / hashlib.sha256(url.encode()).hexdigest()[:32]
        (kept / "v").mkdir(parents=True)
        (kept / "v/manifest.yaml").write_text(text % FORGED)
        known = {"etag": server.etag, "last_modified": ""}
        (kept / "current.json").write_text(
            json.dumps({"version": "v", "manifest": "manifest.yaml", "known": known})
        )
        for each in (shared / "forged", *(shared / "forged").rglob("*")):
            os.chown(each, STRANGER, STRANGER)
        while True:
            yield
            await world.attempt(lambda: loaded(world, url, shared / "cache"))
            removed(shared / "cache")


async def loaded(world: World, url: str, cache: Path) -> str:
    """Load the manifest at ``url``, and see that it is that of the server."""
    try:
        manifest = await trio.to_thread.run_sync(load, url, Inputs(cache=str(cache)))
    except ManifestError as error:
        raise ResourceError(f"refusing: {error}") from error
    if FORGED in str(manifest.graph.resources):
        world.leaks.append("root took the manifest of another user")
    return "loaded"


@race("state directory: claimed by another user", lambda world: claimed(world, "state"))
async def claimed_state(world):
    shared = shared_directory(world)
    (shared / "forged/journal.sqlite").write_text(FORGED)
    os.chown(shared / "forged", STRANGER, STRANGER)
    while True:
        yield
        await world.attempt(lambda: made_state(world, shared / "state"))
        removed(shared / "state")


async def made_state(world: World, path: Path) -> str:
    """Make the state directory, and one below it: the way there is claimed as well."""
    try:
        for each in (path / "below", path):
            StateDirectory.make(str(each))
            if path.lstat().st_uid != 0 or path.is_symlink():
                world.leaks.append("root took the state directory of another user")
    except StateDirectoryError as error:
        raise ResourceError(f"refusing: {error}") from error
    return "made"


def removed(path: Path) -> None:
    """Free the name again, if it is root's; what is the attacker's, they remove."""
    with suppress(OSError):
        if path.lstat().st_uid == 0:
            shutil.rmtree(path)


@race("file and tidy: links, whole trees, ACLs and old files below a swapped parent")
async def trees_and_links(world):
    everything = {"mode": "0777", **_OWN}
    for kind in turns(["link", "forced link", "recurse", "acl", "tidy", "absent link"]):
        world.take("site")
        world.give("site", None)
        world.give("app.conf", "theirs")
        with suppress(OSError):
            os.utime("app.conf", (1, 1), dir_fd=world.conf, follow_symlinks=False)
        yield
        resources = {
            "link": lambda: file(world, "conf/l", ensure="link", target="../root", **_OWN),
            "forced link": lambda: file(world, "conf/site", ensure="link", target="x", force=True, **_OWN),
            "recurse": lambda: file(
                world, "conf/site", ensure="directory", recurse=True, file_mode="0666", **everything
            ),
            "acl": lambda: file(world, "conf/app.conf", acl=[f"u:{STRANGER}:rw"], **everything),
            "tidy": lambda: Tidy(name=str(world.home / "conf"), age="1d", recurse=True, rmdirs=True),
            "absent link": lambda: file(world, "conf/l", ensure="absent"),
        }
        await world.attempt(lambda make=resources[kind]: check(world, make()))
