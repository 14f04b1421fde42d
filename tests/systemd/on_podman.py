"""The kind quadlet with the generator of podman: ``python tests/container/run_quadlet.py`` fetches it and runs these.

CI does not: Debian 12 has no podman that can.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from one_shot import converged
from quadlet_worlds import FILE, IMAGE, UNIT, made, no_file_stays
from unit_worlds import eventually, systemctl

from reactor.engine.events import Result
from reactor.resource.backup_store import state_directory_for
from reactor.resources.quadlet import Quadlet
from reactor.resources.quadlet.generator import USUAL
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import running

GENERATOR = os.environ.get("REACTOR_QUADLET", USUAL)


@pytest.fixture(autouse=True)
def nothing():
    with no_file_stays():
        yield


@pytest.fixture(scope="module", autouse=True)
def _generator():
    if not os.path.exists(USUAL):
        os.makedirs(os.path.dirname(USUAL), exist_ok=True)
        shutil.copy(GENERATOR, USUAL)
    yield
    if GENERATOR != USUAL:
        os.unlink(USUAL)


def arguments():
    """The arguments that systemd would start podman with."""
    shown = systemctl("show", "--value", "--property=ExecStart", UNIT)
    return shown.partition("argv[]=")[2].partition(" ; ignore_errors=")[0]


async def test_podman_gets_each_word_as_it_stands():
    words = ["/wait", "a b", "$HOME", "50%", "%h", 'q"uote', "back\\slash", "ü", "it's", "ends\\"]
    variables = {"A": 'x %h $B "q" \\', "E": ""}
    await converged(
        made(
            command=words,
            entrypoint=["/x", 'a "b" $H %h \\n ü'],
            environment=variables,
            labels={"team": "web x"},
            volumes=["/etc:/data:ro", "cache:/c d%h"],
            user="1000:1001",
        )
    )
    said = arguments()
    for part in (
        f"{IMAGE} /wait a b $$HOME 50% %h q\"uote back\\slash ü it's ends\\",
        '--entrypoint ["/x", "a \\"b\\" $$H %h \\\\n ü"]',
        '--env A=x %h $$B "q" \\ --env E=',
        "--label team=web x",
        "-v /etc:/data:ro -v cache:/c d%h",
        "--user 1000:1001",
    ):
        assert part in said, (part, said)


async def test_the_unit_is_made_changed_and_removed_with_the_file(tmp_path):
    with state_directory_for(str(tmp_path / "state")):
        assert await converged(made(), noop=True) == (
            Result.WOULD_CHANGE,
            f"Would have created {FILE}; Would have had systemd read it",
        )
        assert not FILE.exists()
        assert await converged(made()) == (Result.CHANGED, f"created {FILE}; had systemd read it")
        assert systemctl("show", "--value", "--property=LoadState", UNIT) == "loaded"
        assert await converged(made()) == (Result.OK, "")
        assert await converged(made(ports=["8080:80"])) == (
            Result.CHANGED,
            f"changed {FILE}; had systemd read it",
        )
        assert "--publish 8080:80" in arguments()
        assert systemctl("show", "--value", "--property=NeedDaemonReload", UNIT) == "no"
        assert systemctl("is-enabled", UNIT) == "generated"
        assert await converged(made(ensure="absent")) == (Result.CHANGED, f"removed {FILE}")
        assert systemctl("show", "--value", "--property=LoadState", UNIT) == "not-found"
        assert await converged(made(ensure="absent")) == (Result.OK, "")


async def test_what_was_written_before_a_crash_is_started_later(tmp_path):
    with state_directory_for(str(tmp_path / "state")):
        await converged(made())
        changed = made(ports=["8080:80"])
        for step in changed.plan(await changed.observe(), refresh=False)[:-1]:
            await step.make()
        assert await converged(changed) == (Result.CHANGED, "had systemd read it")
        assert "--publish 8080:80" in arguments()
        assert await converged(changed) == (Result.OK, "")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"volumes": ["/no/such:/data"]}, "there is no /no/such"),
        ({"environment_files": ["/no/such.env"]}, "there is no /no/such.env"),
        ({"name": "dbus"}, "there is a unit dbus.service already"),
    ],
)
async def test_what_would_not_start_is_told_before(more, words):
    for noop in (True, False):
        result, said = await converged(made(**more), noop=noop)
        assert (result, words in said) == (Result.FAILED, True), said
    assert not FILE.exists()
    assert not FILE.with_name("dbus.container").exists()


async def test_podman_itself_checks_the_file_before_it_is_written(monkeypatch):
    monkeypatch.setattr(Quadlet, "_text", property(lambda _self: "[Container]\nImage=a.b/c:1\nBogus=1\n"))
    for noop in (True, False):
        result, said = await converged(made(), noop=noop)
        assert result is Result.FAILED
        assert "podman refuses the container: unsupported key 'Bogus' in group 'Container'" in said
    assert not FILE.exists()


async def test_a_container_that_runs_without_a_unit_is_not_as_desired(tmp_path):
    """A drop-in that podman refuses takes the unit away, and leaves the container running."""
    lasting = Path(f"/run/systemd/system/{UNIT}.d/lasting.conf")
    broken = Path(f"{FILE}.d/broken.conf")
    with state_directory_for(str(tmp_path / "state")):
        await converged(made())
        for path, text in (
            (lasting, "[Service]\nType=simple\nExecStart=\nExecStart=sleep 1000\n"),
            (broken, "[Container]\nBogus=1\n"),
        ):
            path.parent.mkdir(parents=True)
            path.write_text(text)
            systemctl("daemon-reload")
            systemctl("start", UNIT)
        try:
            assert systemctl("is-active", UNIT) == "active"
            result, _ = await converged(made(ensure="running"))
            assert result is Result.FAILED
            assert systemctl("is-active", UNIT) == "active"
        finally:
            for path in (lasting, broken):
                shutil.rmtree(path.parent)
            systemctl("stop", UNIT)


async def test_a_changed_file_is_changed_back():
    async with running(made()) as story:
        await story.converged()
        await story.rest()
        before = FILE.read_text()
        FILE.write_text("[Container]\nImage=a.b/c:1\n")
        await eventually(lambda: FILE.exists() and FILE.read_text() == before)
        await story.rest()
        assert IMAGE in arguments()


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_contract(promise):
    def look():
        return FILE.read_text() if FILE.exists() else None

    await promise(Case(made, look, FILE.unlink))
