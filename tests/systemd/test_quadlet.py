"""The kind quadlet on a real systemd. ``python tests/container/run_quadlet.py`` fetches podman's generator for them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from unit_worlds import eventually, systemctl

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import state_directory_for
from reactor.resources.quadlet import Quadlet
from reactor.resources.quadlet.generator import USUAL
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

NAME, UNIT = "matrixquadlet", "matrixquadlet.service"
FILE = Path(f"/etc/containers/systemd/{NAME}.container")
GENERATOR = os.environ.get("REACTOR_QUADLET", USUAL)
IMAGE = "docker.io/library/nginx:1.27"


@pytest.fixture(autouse=True)
def nothing():
    yield
    FILE.unlink(missing_ok=True)
    if systemctl("show", "--value", "--property=LoadState", UNIT) != "not-found":
        systemctl("daemon-reload")


@pytest.fixture(scope="module")
def _generator():
    if not os.path.exists(GENERATOR):
        pytest.skip("there is no quadlet: see run_quadlet.py")
    if not os.path.exists(USUAL):
        os.makedirs(os.path.dirname(USUAL), exist_ok=True)
        shutil.copy(GENERATOR, USUAL)
    yield
    if GENERATOR != USUAL:
        os.unlink(USUAL)


quadlet_is_here = pytest.mark.usefixtures("_generator")


def made(**more):
    return Quadlet(**{"name": NAME, "image": IMAGE, "ensure": "stopped", **more})


async def answer(resource, *, noop=False):
    """The result of a run, with what it did or why it failed."""
    _, story = await converge_once(resource, options=RunOptions(noop=noop))
    check = story.checks(resource.ref)[-1]
    return check.result, "; ".join((*check.actions, check.error or "")).strip("; ")


def arguments():
    """The arguments that systemd would start podman with."""
    shown = systemctl("show", "--value", "--property=ExecStart", UNIT)
    return shown.partition("argv[]=")[2].partition(" ; ignore_errors=")[0]


@pytest.mark.skipif(os.path.exists(USUAL), reason="this host has quadlet")
@pytest.mark.parametrize(
    ("has_podman", "words"),
    [(False, "podman is not installed"), (True, "this podman has no quadlet: that came with podman 4.4")],
)
async def test_a_host_without_quadlet_is_told_before_anything_is_written(has_podman, words):
    program = Path("/usr/local/bin/podman")
    if has_podman:
        shutil.copy("/bin/true", program)
    for noop in (True, False):
        result, said = await answer(made(), noop=noop)
        assert (result, words in said) == (Result.FAILED, True), said
    assert not FILE.exists()
    program.unlink(missing_ok=True)


@quadlet_is_here
async def test_podman_gets_each_word_as_it_stands():
    words = ["/wait", "a b", "$HOME", "50%", "%h", 'q"uote', "back\\slash", "ü", "it's", "ends\\"]
    variables = {"A": 'x %h $B "q" \\', "E": ""}
    await answer(
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


@quadlet_is_here
async def test_the_unit_is_made_changed_and_removed_with_the_file(tmp_path):
    with state_directory_for(str(tmp_path / "state")):
        assert await answer(made(), noop=True) == (
            Result.WOULD_CHANGE,
            f"Would have created {FILE}; Would have had systemd read it",
        )
        assert not FILE.exists()
        assert await answer(made()) == (Result.CHANGED, f"created {FILE}; had systemd read it")
        assert systemctl("show", "--value", "--property=LoadState", UNIT) == "loaded"
        assert await answer(made()) == (Result.OK, "")
        assert await answer(made(ports=["8080:80"])) == (
            Result.CHANGED,
            f"changed {FILE}; had systemd read it",
        )
        assert "--publish 8080:80" in arguments()
        assert systemctl("show", "--value", "--property=NeedDaemonReload", UNIT) == "no"
        assert systemctl("is-enabled", UNIT) == "generated"
        assert await answer(made(ensure="absent")) == (Result.CHANGED, f"removed {FILE}")
        assert systemctl("show", "--value", "--property=LoadState", UNIT) == "not-found"
        assert await answer(made(ensure="absent")) == (Result.OK, "")


@quadlet_is_here
async def test_what_was_written_before_a_crash_is_started_later(tmp_path):
    with state_directory_for(str(tmp_path / "state")):
        await answer(made())
        changed = made(ports=["8080:80"])
        for step in changed.plan(await changed.observe(), refresh=False)[:-1]:
            await step.make()
        assert await answer(changed) == (Result.CHANGED, "had systemd read it")
        assert "--publish 8080:80" in arguments()
        assert await answer(changed) == (Result.OK, "")


@quadlet_is_here
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
        result, said = await answer(made(**more), noop=noop)
        assert (result, words in said) == (Result.FAILED, True), said
    assert not FILE.exists()
    assert not FILE.with_name("dbus.container").exists()


@quadlet_is_here
async def test_podman_itself_checks_the_file_before_it_is_written(monkeypatch):
    monkeypatch.setattr(Quadlet, "_text", property(lambda _self: "[Container]\nImage=a.b/c:1\nBogus=1\n"))
    for noop in (True, False):
        result, said = await answer(made(), noop=noop)
        assert result is Result.FAILED
        assert "podman refuses the container: unsupported key 'Bogus' in group 'Container'" in said
    assert not FILE.exists()


@quadlet_is_here
async def test_a_changed_file_is_changed_back():
    async with running(made()) as story:
        await story.converged()
        await story.rest()
        before = FILE.read_text()
        FILE.write_text("[Container]\nImage=a.b/c:1\n")
        await eventually(lambda: FILE.exists() and FILE.read_text() == before)
        await story.rest()
        assert IMAGE in arguments()


@quadlet_is_here
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_contract(promise):
    def look():
        return FILE.read_text() if FILE.exists() else None

    await promise(Case(made, look, FILE.unlink))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a: {}", "image is missing"),
        ('a: {image: x, description: "b\\n[X]"}', "one line of text"),
        ('a: {image: x, volumes: ["/a:/b\\\\"]}', "a backslash at the end would join the next line"),
        ('a: {image: x, environment: {A: "b\\nc"}}', "one line of text"),
        ('a: {image: x, command: [""]}', "at least 1 item"),
        ("a: {image: x, networks: [none, web]}", "excludes all others"),
        ("a: {image: x, environment: {A=B: c}}", "is not a name of a variable"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(entry, message, tmp_path):
    (tmp_path / "site.yaml").write_text(f"resources:\n  - quadlet:\n      - {entry}\n")
    with pytest.raises(ManifestError) as raised:
        load(str(tmp_path / "site.yaml"))
    (found,) = raised.value.diagnostics
    assert message in found.message
    assert found.place.line == 3


def test_two_containers_at_one_port_of_the_host_are_found_at_load(tmp_path):
    text = "resources:\n  - quadlet: [{a: {image: x, ports: ['80:80']}}]\n  - container: [{b: {image: x, ports: ['80:80']}}]\n"
    (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(ManifestError, match="do not agree"):
        load(str(tmp_path / "site.yaml"))


def test_the_file_starts_the_container_at_boot_unless_told_otherwise():
    assert "WantedBy=multi-user.target" in made()._text
    assert "[Install]" not in made(enable=False)._text
