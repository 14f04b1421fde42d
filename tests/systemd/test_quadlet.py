"""The kind quadlet on a host without podman; `on_podman` has the tests that need it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from one_shot import converged
from quadlet_worlds import FILE, made

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.resources.quadlet.generator import USUAL


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
        result, said = await converged(made(), noop=noop)
        assert (result, words in said) == (Result.FAILED, True), said
    assert not FILE.exists()
    program.unlink(missing_ok=True)


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
