"""A dry run knows that a directory which comes first replaces a file in its place."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.accounts import User
from reactor.resources.archive import Archive
from reactor.resources.certificate import Certificate
from reactor.resources.file import File
from reactor.resources.git import Git
from reactor.resources.mount import Mount
from reactor.resources.npm import Npm
from reactor.resources.pip import Pip
from reactor.resources.scaffold import Scaffold
from reactor.resources.tidy import Tidy
from reactor.testing.story import converge_once


def scaffold(place):
    templates = place.parent / "templates"
    templates.mkdir()
    (templates / "t").write_text("t")
    return Scaffold(name=str(place), ensure="present", source=str(templates))


def archive(place):
    return Archive(
        name=f"{place.parent}/a.tar",
        ensure="present",
        url="https://127.0.0.1:9/a.tar",
        extract_parent=str(place),
        owner="root",
        group="root",
    )


def git(place):
    origin = f"{place.parent}/origin"
    subprocess.run(["git", "init", "-q", origin], check=True)
    subprocess.run(
        [
            "git",
            "-C",
            origin,
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
        check=True,
    )
    return Git(name=str(place), url=origin)


IN_A_DIRECTORY = [
    scaffold,
    archive,
    lambda place: Tidy(name=str(place), age="1d"),
    lambda place: Certificate(name=str(place), names=["a.example"]),
    git,
    lambda place: Npm(name=str(place), packages=["left-pad"]),
    lambda place: Pip(name=str(place), packages=["x"]),
    lambda place: Mount(
        name=str(place), device="tmpfs", fstype="tmpfs", ensure="mounted", options=["size=1m"]
    ),
    lambda place: User(name="someone-new", home=f"{place}/home", manage_home=True),
]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts and adds users")
@pytest.mark.parametrize("make", IN_A_DIRECTORY)
async def test_what_needs_the_directory_does_not_fail_before_it_is_made(make, tmp_path):
    place = Path(tmp_path, "place")
    place.write_text("in the way")
    directory = File(name=str(place), ensure="directory", owner="root", group="root", mode="0755")
    resource = make(place)
    _, story = await converge_once(directory, resource, options=RunOptions(noop=True))
    check = story.checks(resource.ref)[-1]
    assert check.result is Result.WOULD_CHANGE, check.error
    assert place.read_text() == "in the way"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts and adds users")
@pytest.mark.parametrize("make", IN_A_DIRECTORY)
async def test_a_file_in_the_way_that_nothing_replaces_is_a_failure(make, tmp_path):
    place = Path(tmp_path, "place")
    place.write_text("in the way")
    resource = make(place)
    _, story = await converge_once(resource, options=RunOptions(noop=True))
    assert story.checks(resource.ref)[-1].result is Result.FAILED
