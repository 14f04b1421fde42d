"""The attacks that need a race. Each is a generator of attempts, run while attackers do what their words say.

`races.py NAME SECONDS` runs one, as root, in a mount namespace of its own, and prints what became of it as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import trio
from line_pipe import with_deadline
from victims import FORGED, STRANGER, World, check

from reactor.mountinfo import read_mounts
from reactor.resources.file import File
from reactor.resources.health.goss.file import FileRule
from reactor.resources.mount import Mount
from reactor.resources.process import ENVIRONMENT, Command
from reactor.resources.process import run as run_command
from reactor.resources.scaffold import Scaffold

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "archive"))
from archive_server import ArchiveServer  # noqa: E402 - of the tests of archives
from archive_worlds import FILES, make, sha256, tar_of  # noqa: E402

MOST_LEAKS = 5
_OWN = {"owner": str(STRANGER), "group": str(STRANGER)}
_ROOT = {"owner": "0", "group": "0", "mode": "0644"}

Words = Sequence[object]
Race = Callable[[World], AsyncIterator[None]]
RACES: dict[str, tuple[Race, Callable[[World], list[Words]]]] = {}


def conf_against_root(world: World) -> list[Words]:
    """The parent directory is exchanged with a symlink to that of root."""
    return [("exchange", *world.swapped)]


def race(name: str, attackers: Callable[[World], list[Words]] = conf_against_root) -> Callable[[Race], Race]:
    """Enter a race under its ``name``; ``attackers`` start once it is set up, which is at its first attempt."""

    def enter(run: Race) -> Race:
        RACES[name] = run, attackers
        return run

    return enter


def file(world: World, name: str = "conf/app.conf", **properties: object):
    return File(name=str(world.home / name), **({"ensure": "present"} | properties))


def turns(values: Sequence[object]) -> Iterator[object]:
    while True:
        yield from values


@race("file: observe, diff and dry run")
async def file_noop(world):
    for text in turns(["new", "theirs"]):
        world.give("app.conf", "theirs")
        yield
        await world.attempt(
            lambda text=text: check(world, file(world, content=text, mode="0600", **_OWN), act=False)
        )


@race("file: write below a swapped parent")
async def file_write(world):
    for text in turns(["one", "two"]):
        yield
        await world.attempt(lambda text=text: check(world, file(world, content=text, mode="0644", **_OWN)))


@race("file: owner and mode below a swapped parent")
async def file_attributes(world):
    for mode in turns(["0644", "0666"]):
        world.give("app.conf", "theirs", 0o600)
        yield
        await world.attempt(lambda mode=mode: check(world, file(world, mode=mode, **_OWN)))


@race("file: remove below a swapped parent")
async def file_remove(world):
    for name in turns(["app.conf", "site"]):
        world.give(name, "theirs" if name == "app.conf" else None)
        yield
        gone = file(world, f"conf/{name}", ensure="absent", force=name == "site")
        await world.attempt(lambda gone=gone: check(world, gone))


@race("file: make directories below a swapped parent")
async def file_directory(world):
    for name in turns(["new", "site", "a"]):
        world.take(name)
        yield
        made = file(
            world,
            f"conf/{name}/b" if name == "a" else f"conf/{name}",
            ensure="directory",
            mode="0755",
            **_OWN,
        )
        await world.attempt(lambda made=made: check(world, made))


@race("file: what a reversal keeps, below a swapped parent")
async def file_reversal(world):
    async def reverse():
        resource = file(world, content="new", mode="0644", **_OWN)
        world.seen(await resource.reversal(await resource.observe()))
        return "kept"

    while True:
        world.give("app.conf", "theirs")
        yield
        await world.attempt(reverse)


def path_against_hard_link(world: World) -> list[Words]:
    """Root makes the second name, as fs.protected_hardlinks=0 would let the attacker."""
    return [("exchange", world.home / "app.conf", world.home / "link")]


def link(world: World) -> None:
    """Have a file of the attacker at one of the two names, and a hard link to a file of root at the other."""
    put(world, world.home / "app.conf")
    again = world.home / "again"
    again.unlink(missing_ok=True)
    os.link(world.root / "app.conf", again)
    again.replace(world.home / "link")


def put(world: World, path: Path, text: str = "theirs") -> None:
    """A file of the attacker, made in their directory in one step."""
    new = path.with_name("being-made")
    new.write_text(text)
    os.chown(new, STRANGER, STRANGER)
    new.replace(path)


@race("file: owner and mode, against a hard link to root's", path_against_hard_link)
async def hard_link_attributes(world):
    link(world)
    for mode in turns(["0644", "0666"]):
        yield
        await world.attempt(lambda mode=mode: check(world, file(world, "app.conf", mode=mode, **_OWN)))


@race("file: content and backup, against a hard link to root's", path_against_hard_link)
async def hard_link_content(world):
    for text in turns(["one", "two"]):
        link(world)
        yield
        await world.attempt(
            lambda text=text: check(world, file(world, "app.conf", content=text, mode="0644", **_OWN))
        )


def sources_against_root(world: World) -> list[Words]:
    """The source is exchanged with a symlink to a file of root, and with a hard link to it."""
    (world.home / "symlink").symlink_to("../root/app.conf")
    os.lchown(world.home / "symlink", STRANGER, STRANGER)
    os.link(world.root / "app.conf", world.home / "link")
    pairs = (world.home / "source", world.home / "symlink", world.home / "source", world.home / "link")
    return [("exchange", *pairs, *world.swapped)]


@race("file: the source swapped", sources_against_root)
async def file_source(world):
    put(world, world.home / "source")
    world.give("app.conf", "theirs")
    for source in turns([world.home / "source", world.home / "conf/app.conf"]):
        (world.top / "copy").unlink(missing_ok=True)
        yield
        copy = File(name=str(world.top / "copy"), ensure="present", source=str(source), **_ROOT)
        await world.attempt(lambda copy=copy: check(world, copy))
        world.holds_secret(world.top / "copy")


def scaffold(world: World, source: Path, target: Path, **properties: object):
    return Scaffold(name=str(target), ensure="present", source=str(source), **properties)


@race("scaffold: the target swapped, with purge")
async def scaffold_target(world):
    (world.top / "templates").mkdir()
    (world.top / "templates/app.conf").write_text("ours")
    made = scaffold(world, world.top / "templates", world.home / "conf/site", purge=True)
    for act in turns([True, False, True]):
        world.give("site", None)
        world.give("site/more", "theirs")
        yield
        await world.attempt(lambda act=act: check(world, made, act=act))


@race("scaffold: the templates swapped, with purge")
async def scaffold_source(world):
    for text in turns(["one", "two"]):
        world.give("app.conf", text)
        yield
        made = scaffold(world, world.home / "conf", world.top / "target", purge=True)
        await world.attempt(lambda made=made: check(world, made))
        world.holds_secret(world.top / "target")


FORGED_TAR = tar_of({**FILES, "app/bin/run": f"#!/bin/sh\necho {FORGED}\n".encode()}, "w")


def archives_exchanged(world: World) -> list[Words]:
    return [("exchange", world.home / "app.tar", world.home / "forged.tar")]


@race("archive: swapped between its comparison and unpacking", archives_exchanged)
async def archive_swapped(world):
    good, run = tar_of(FILES, "w"), world.top / "opt/app/bin/run"
    with ArchiveServer() as server:
        server.serve(good)
        wanted = {
            "extract_parent": str(world.top / "opt"),
            "creates": str(run),
            **_OWN,
            "checksum": sha256(good),
        }
        made = make(world.home / "app.tar", server.url(name="app.tar"), **wanted)
        for _ in turns([1]):
            for name, data in (("app.tar", good), ("forged.tar", FORGED_TAR)):
                new = world.home / "being-made"
                new.write_bytes(data)
                os.chown(new, STRANGER, STRANGER)
                new.replace(world.home / name)
            run.unlink(missing_ok=True)
            yield
            await world.attempt(lambda: check(world, made))
            world.holds_forged(run)


@race("archive: the directory to unpack into swapped")
async def archive_parent(world):
    good = tar_of(FILES, "w")
    with ArchiveServer() as server:
        server.serve(good)
        wanted = {
            "extract_parent": str(world.home / "conf/opt"),
            "creates": str(world.home / "conf/opt/app/README"),
        }
        made = make(
            world.top / "app.tar", server.url(name="app.tar"), **wanted, **_OWN, checksum=sha256(good)
        )
        while True:
            world.take("opt")
            yield
            await world.attempt(lambda: check(world, made))


def replacing_in_home(world: World) -> list[Words]:
    (world.home / "own").mkdir()
    os.chown(world.home / "own", STRANGER, STRANGER)
    return [("replace", world.home, world.home / "own")]


def replacing_a_directory_of_root(world: World) -> list[Words]:
    return [("replace", world.home / "ours", world.home / "conf")]


async def judged(world, name, **properties):
    judge, seen = world.top / "judge", world.top / "judged"
    judge.write_text(f'#!/bin/sh\nexec cat "$1" >> {seen}\n')
    judge.chmod(0o755)
    for text in turns(["one", "two"]):
        seen.unlink(missing_ok=True)
        yield
        wanted = file(world, name, content=text, validate=f"{judge} {{path}}", **properties)
        await world.attempt(lambda wanted=wanted: check(world, wanted))
        world.holds_forged(seen)
        world.holds_secret(seen)


@race("validate: the temporary file replaced in a user's directory", replacing_in_home)
async def validate_home(world):
    async for _ in judged(world, "app.conf", mode="0644", **_OWN):
        yield


@race("validate: root's directory replaced in a user's", replacing_a_directory_of_root)
async def validate_ours(world):
    (world.home / "ours").mkdir()
    async for _ in judged(world, "ours/app.conf", **_ROOT):
        yield


async def mounted_and_not(world, points, **properties):
    """Mount and unmount, and see that nothing is ever mounted in root's directory, nor anything of root's elsewhere."""
    for ensure in turns(["mounted", "absent"]):
        yield
        for name in points:
            more = properties if ensure == "mounted" else {}
            made = Mount(name=str(name), ensure=ensure, **more)
            await world.attempt(lambda made=made: check(world, made))
            table = Path("/proc/self/mountinfo").read_text()
            if f" {world.root}/" in table:
                world.leaks.append("something is mounted in root's directory")
                subprocess.run(["umount", "--lazy", world.root / "point"], check=False)
            world.holds_secret(world.top / "point")


@race("mount: the parent of the mount point swapped, tmpfs")
async def mount_tmpfs(world):
    world.give("point", None)
    async for _ in mounted_and_not(world, [world.home / "conf/point"], device="tmpfs", fstype="tmpfs"):
        yield


@race("mount: the parent of the mount point swapped, bind")
async def mount_bind(world):
    world.give("point", None)
    (world.top / "bound").mkdir()
    wanted = {"device": str(world.top / "bound"), "fstype": "none", "options": ("bind", "ro")}
    async for _ in mounted_and_not(world, [world.home / "conf/point"], **wanted):
        yield


@race("mount: what is bound swapped")
async def mount_bound(world):
    world.give("site", None)
    (world.top / "point").mkdir()
    wanted = {"device": str(world.home / "conf/site"), "fstype": "none", "options": ("bind",)}
    async for _ in mounted_and_not(world, [world.top / "point"], **wanted):
        yield


@race("exec: the working directory swapped")
async def exec_cwd(world):
    async def work():
        words = ["/bin/sh", "-c", "cat app.conf; echo x > new; rm -rf app.conf site"]
        done = await run_command(Command(words, str(world.home / "conf"), ENVIRONMENT))
        world.seen(done.stdout + done.stderr)
        return "ran"

    while True:
        world.give("app.conf", "theirs")
        yield
        await world.attempt(work)


@race("health check: a file below a swapped parent")
async def goss_file(world):
    async def work():
        rule = FileRule(contents=["nothing"], size=1, **{"linked-to": "x"})
        world.seen(await rule.failures(str(world.home / "conf/app.conf")))
        return "shown"

    world.give("app.conf", "theirs")
    while True:
        yield
        await world.attempt(work)


@contextmanager
def attacking(words: Words, program: Path) -> Iterator[None]:
    """One attacker, for a block: a process of another user."""
    kind, *more = map(str, words)
    attackers = {"replace": "replacing.py", "claim": "claiming.py", "hold": "holding.py"}
    command = [program] if kind == "exchange" else [sys.executable, "-S", HERE / attackers[kind]]
    process = with_deadline(subprocess.Popen([*command, str(STRANGER), *more], stdout=subprocess.PIPE))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
        assert process.poll() is None, "the attacker is gone"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def run(name: str, seconds: float, world: World, program: Path) -> None:
    """Run one race for so long, or until it has leaked enough."""
    attempts, attackers = RACES[name]
    with ExitStack() as opened, world.watched():
        turns_of_it = attempts(world)
        await anext(turns_of_it)
        for words in attackers(world):
            opened.enter_context(attacking(words, program))
        world.look()
        world.leaks.clear()  # what was set up is no leak
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(world.leaks) < MOST_LEAKS:
            await anext(turns_of_it)
            await trio.lowlevel.checkpoint()
        await turns_of_it.aclose()


def main() -> None:
    """See the head of this module."""
    import more_races  # noqa: F401, PLC0415 - adds its own, and needs this module

    name, seconds = sys.argv[1], float(sys.argv[2])
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with tempfile.TemporaryDirectory(prefix="reactor-races-") as directory:
        top = Path(directory)
        program = top / "exchanging"
        subprocess.run(["cc", "-O2", "-o", program, HERE / "exchanging.c"], check=True)
        own = top / "etc"
        own.mkdir()
        for each in ("passwd", "group"):
            (own / each).write_bytes(Path("/etc", each).read_bytes())
        (own / "fstab").touch()
        subprocess.run(["mount", "--bind", own, "/etc"], check=True)
        world = World(top)
        try:
            trio.run(run, name, seconds, world, program)
        finally:
            # The attacker may have left mounts anywhere, also one above the other.
            for mount in reversed(list(read_mounts())):
                if mount.point.startswith(f"{top}/"):
                    subprocess.run(["umount", "--lazy", mount.point], check=False)
            subprocess.run(["umount", "--lazy", "/etc"], check=False)
    sys.stdout.write(
        json.dumps({"attempts": world.attempts, "outcomes": world.outcomes, "leaks": world.leaks})
    )


if __name__ == "__main__":
    sys.modules["races"] = sys.modules["__main__"]
    main()
