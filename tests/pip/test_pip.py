"""A virtual environment and its packages, by the real pip and packages that the tests make."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import partial
from pathlib import Path

import one_shot
import pytest
from fixed_paths import immutable
from pip_worlds import copy_template, make_index, make_template, packages_of, unpack

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import state_directory_for
from reactor.resources.pip import Pip
from reactor.resources.pip.requirements import missing, read_requirements
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once

NOBODY = 65534


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return make_template(tmp_path_factory.mktemp("template") / "venv")


@pytest.fixture
def index(tmp_path):
    return make_index(tmp_path / "index")


@pytest.fixture
def venv(tmp_path, template):
    copy_template(template, tmp_path / "venv")
    return tmp_path / "venv"


@pytest.fixture
def have(venv, index):
    """Install packages without pip."""

    def have(*wheels):
        for wheel in wheels:
            unpack(index / f"{wheel}-py3-none-any.whl", venv)

    return have


@pytest.fixture
def converge(tmp_path, index):
    async def converge(*, noop=False, **properties):
        values = {"name": str(tmp_path / "venv"), "find_links": str(index), "no_index": True, **properties}
        resource = Pip(**values)
        with state_directory_for(str(tmp_path / "state")):
            return await one_shot.converged(resource, noop=noop)

    return converge


@pytest.fixture
def must_change(converge):
    return partial(one_shot.must_change, converge)


async def test_the_environment_is_made_with_its_packages(must_change, tmp_path):
    did = await must_change(packages=["one==1.0", "two-words"])
    assert did == "made the environment; installed one==1.0, two-words"
    assert packages_of(tmp_path / "venv") == {"one": "1.0", "two_words": "1.5"}


async def test_another_version_is_installed(must_change, venv, have):
    have("one-1.0")
    assert await must_change(packages=["one>=1.5"]) == "installed one>=1.5"
    assert packages_of(venv) == {"one": "2.0"}


async def test_what_is_installed_is_known_without_pip(converge, venv, have):
    have("one-1.0", "two_words-1.5")
    (venv / "bin/python").unlink()
    (venv / "bin/python").symlink_to("/bin/false")
    for packages in (
        ["one"],
        ["One == 1.0"],
        ["two.words>=1,<2"],
        ["one", "Two_Words"],
        ["none; python_version<'3'"],
    ):
        assert await converge(packages=packages) == (Result.OK, "")


async def test_a_file_of_requirements_is_installed_when_it_changes(
    must_change, converge, venv, have, tmp_path
):
    file = tmp_path / "requirements.txt"
    file.write_text("# ours\none==1.0  # why\n\nTwo_words >= 1 \\\n  --hash=x\n")
    have("one-1.0", "two_words-1.5")
    assert await converge(requirements=str(file)) == (Result.OK, "")
    file.write_text("--prefer-binary\none==2.0\n")
    assert await must_change(requirements=str(file)) == f"installed the requirements of {file}"
    assert packages_of(venv)["one"] == "2.0"
    shutil.rmtree(next(venv.glob("lib/*/site-packages/one-2.0.dist-info")))
    await must_change(requirements=str(file))
    file.unlink()
    assert (await converge(requirements=str(file)))[0] is Result.FAILED


async def test_unwanted_packages_are_removed(must_change, venv, have):
    have("one-1.0", "two_words-1.5")
    assert await must_change(unwanted=["Two.Words", "none"]) == "removed two-words"
    assert packages_of(venv) == {"one": "1.0"}


async def test_a_package_that_no_index_has_is_told_before(converge, venv):
    for noop in (True, False):
        result, said = await converge(packages=["one==9"], noop=noop)
        assert result is Result.FAILED
        assert "No matching distribution found for one==9" in said
    assert packages_of(venv) == {}


async def test_a_python_that_is_not_there_is_told_before(converge, tmp_path):
    for noop in (True, False):
        assert (await converge(python="python2.0", noop=noop))[0] is Result.FAILED
    assert not (tmp_path / "venv/pyvenv.cfg").exists()


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_an_environment_keeps_the_contract(promise, venv, index):
    await promise(
        Case(
            make=lambda: Pip(name=str(venv), packages=["one==1.0"], find_links=str(index), no_index=True),
            world=lambda: packages_of(venv),
            spoil=lambda: shutil.rmtree(next(venv.glob("lib/*/site-packages/one-1.0.dist-info"))),
        )
    )


async def test_an_environment_that_lost_its_python_is_made_anew(must_change, venv, have):
    (venv / "bin/python3").unlink()
    did = await must_change()
    assert did == "made the environment again, as its Python was gone"
    assert packages_of(venv) == {}


@pytest.mark.parametrize("in_the_way", ["file", "link", "directory"])
async def test_something_else_at_the_path_stays(converge, tmp_path, in_the_way):
    path = tmp_path / "venv"
    match in_the_way:
        case "file":
            path.write_text("mine")
        case "link":
            (tmp_path / "elsewhere").mkdir()
            path.symlink_to(tmp_path / "elsewhere")
        case "directory":
            path.mkdir()
            (path / "mine").write_text("mine")
    for noop in (True, False):
        for ensure in ("present", "absent"):
            result, said = await converge(ensure=ensure, noop=noop)
            assert result is Result.FAILED
            assert "cannot manage it" in said
    assert os.path.lexists(path)


async def test_it_is_removed(must_change, venv):
    assert await must_change(ensure="absent") == "removed the environment"
    assert not venv.exists()


async def test_a_password_of_the_index_is_shown_nowhere(converge, venv, tmp_path):
    url = "http://ada:p4ss-w0rd@127.0.0.1:1/simple"
    properties = {"no_index": False, "find_links": None, "index": url, "timeout": "2s"}
    result, said = await converge(packages=["one"], **properties)
    assert result is Result.FAILED
    assert "p4ss-w0rd" not in said


def test_lines_of_requirements_are_read_as_pip_reads_them():
    listed = read_requirements(
        "one==1 --hash=sha256:0\n-r other.txt\n\\\n# x\ntwo[x]>=1; python_version>'3' # y\n./here\n"
    )
    assert listed.lines == ("one==1", "two[x]>=1; python_version>'3'")
    assert listed.is_opaque
    assert missing(listed.lines, {"one": ("1.0",), "two": ("0.9",)}, "python3.11") == [listed.lines[1]]
    assert missing(["one<1"], {"one": ("1.0", "0.9")}, "python3.11") == ["one<1"]
    assert missing(["one"], {"one": ("not a version",)}, None) == []


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"packages": ["-e ."]}, "is not a package"),
        ({"packages": ["one=1"]}, "is not a package"),
        ({"packages": ["one\n--index-url=x"]}, "is not a package"),
        ({"packages": ["one", "One==1"]}, "listed twice"),
        ({"packages": ["one"], "unwanted": ["ONE"]}, "wanted and unwanted"),
        ({"no_index": True}, "requires find_links"),
        ({"python": "-c"}, "match"),
    ],
)
def test_what_makes_no_sense_is_found_at_load(properties, words):
    with pytest.raises(ValueError, match=words):
        Pip(name="/x", **properties)


@pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
@pytest.mark.parametrize("spoilt", ["owner", "lib", "bin", "writable", "way"])
async def test_root_runs_no_python_that_another_user_can_change(spoilt, template, index):
    root = Path(tempfile.mkdtemp(prefix="pip-"))
    try:
        root.chmod(0o755)
        (root / "home").mkdir()
        venv = root / "home/venv"
        copy_template(template, venv)
        mark = root / "mark"
        (venv / "bin/python").unlink()
        (venv / "bin/python").write_text(f"#!/bin/sh\ntouch {mark}\n")
        (venv / "bin/python").chmod(0o755)
        given = {
            "owner": venv,
            "lib": next(venv.glob("lib/*/site-packages")),
            "bin": venv / "bin",
            "way": root / "home",
        }
        if spoilt in given:
            os.chown(given[spoilt], NOBODY, NOBODY)
        else:
            venv.chmod(0o777)
        for noop in (True, False):
            resource = Pip(name=str(venv), packages=["one"], find_links=str(index), no_index=True)
            _, story = await converge_once(resource, options=RunOptions(noop=noop))
            assert story.result(resource.ref) is Result.FAILED
        assert not mark.exists()
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize(
    "part", [".", "lib/python*/site-packages", "lib/python*/site-packages/one-1.0.dist-info/METADATA"]
)
async def test_a_dry_run_says_that_what_is_immutable_keeps_the_packages(converge, venv, have, part):
    have("one-1.0")
    (fixed,) = venv.glob(part) if part != "." else [venv]
    before = sorted(venv.rglob("*"))
    wanted = {"ensure": "absent"} if "one" in part or part == "." else {"packages": ["two-words"]}
    with immutable(fixed):
        for noop in (True, False):
            result, words = await converge(noop=noop, **wanted)
            assert (result, "not permitted" in words) == (Result.FAILED, True), words
            assert sorted(venv.rglob("*")) == before or not noop


async def test_a_dry_run_says_that_an_environment_can_not_be_made(converge, venv, tmp_path):
    shutil.rmtree(venv)
    with immutable(tmp_path):
        result, words = await converge(noop=True)
        assert (result, "not permitted" in words) == (Result.FAILED, True), words


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
@pytest.mark.parametrize("of", ["the file", "its directory", "a symlink", "a package"])
async def test_root_installs_nothing_that_another_user_can_name(venv, tmp_path, index, converge, of):
    (tmp_path / "app").mkdir()
    file = tmp_path / "app/requirements.txt"
    file.write_text("extra\n")
    (tmp_path / "link").symlink_to("app")
    (tmp_path / "extra-1.0.tar.gz").write_bytes(b"")
    given = {"the file": file, "its directory": file.parent, "a symlink": tmp_path / "link"}
    foreign = given.get(of, next(index.iterdir()))
    os.chown(foreign, NOBODY, NOBODY, follow_symlinks=False)
    result, words = await converge(requirements=str(tmp_path / "link/requirements.txt"))
    assert result is Result.FAILED
    assert "another user can change what pip would install with our rights" in words
    assert "extra" not in packages_of(venv)
