"""The kinds npm and gem, by the real npm and gem and by registries on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import one_shot
import pytest
from fixed_paths import immutable
from registries import gem_registry, make_npm, npm_registry, publish_gems

from reactor import ResourceError
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.gem import Gem
from reactor.resources.npm import Npm
from reactor.resources.process import ENVIRONMENT
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once

KINDS = {"npm": Npm, "gem": Gem}
OLD = {"npm": "one@1.0.0", "gem": "one:1.0"}
NEW = {"npm": "one@2.0.0", "gem": "one:2.0"}
LATEST = {"npm": "one@latest", "gem": "one:latest"}
OTHER = {"npm": "@team/two", "gem": "two-words"}
VERSIONS = {"npm": ("1.0.0", "2.0.0"), "gem": ("1.0", "2.0")}


class Registry:
    def __init__(self, kind, url, publish):
        self.kind, self.url, self.publish = kind, url, publish


@pytest.fixture(scope="module", params=KINDS)
def registry(request, tmp_path_factory):
    if request.param == "npm":
        programs = make_npm(tmp_path_factory.mktemp("programs"))
        with pytest.MonkeyPatch.context() as patch, npm_registry() as (url, served):
            for variables in (ENVIRONMENT, os.environ):
                patch.setitem(variables, "PATH", f"{programs}:{variables['PATH']}")
            yield Registry("npm", url, served.publish)
    else:
        directory = tmp_path_factory.mktemp("gems")
        with gem_registry(directory) as url:
            yield Registry("gem", url, lambda name, version: publish_gems(directory, (name, version)))


@pytest.fixture
def kind(registry):
    return registry.kind


@pytest.fixture
def converge(tmp_path, registry):
    async def converge(*, noop=False, **properties):
        values = {"name": str(tmp_path / "tools"), "registry": registry.url, **properties}
        resource = KINDS[registry.kind](**values)
        return await one_shot.converged(resource, noop=noop)

    return converge


@pytest.fixture
def must_change(converge, tmp_path):
    return partial(one_shot.must_change, converge, seen=lambda: sorted(tmp_path.rglob("*")))


def installed(kind, path):
    """What npm or gem itself says is installed."""
    if kind == "npm":
        said = subprocess.run(
            ["npm", "ls", "--global", "--prefix", path, "--parseable", "--long"],
            capture_output=True,
            text=True,
            check=True,
        )
        return {line.rpartition(":")[2] for line in said.stdout.splitlines()[1:]}
    variables = {**os.environ, "GEM_HOME": str(path), "GEM_PATH": str(path)}
    said = subprocess.run(
        ["gem", "list", "--local"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.strip() for line in said.stdout.splitlines() if "default:" not in line and "(" in line}


async def test_packages_are_installed_changed_and_removed(must_change, converge, kind, tmp_path):
    path = tmp_path / "tools"
    old, new = VERSIONS[kind]
    assert (
        await must_change(packages=[OLD[kind], OTHER[kind]])
        == f"made the directory; installed one {old}, {OTHER[kind]}"
    )
    found = installed(kind, path)
    assert found == ({"one@1.0.0", "@team/two@1.5.0"} if kind == "npm" else {"one (1.0)", "two-words (1.5)"})
    assert await converge(packages=["one"]) == (Result.OK, "")
    assert await must_change(packages=[NEW[kind]]) == f"installed one {new}"
    assert await must_change(unwanted=["one"]) == "removed one"
    assert installed(kind, path) == ({"@team/two@1.5.0"} if kind == "npm" else {"two-words (1.5)"})
    if kind == "npm":
        shutil.rmtree(path / "lib/node_modules/@team/two")
    else:
        (path / "specifications/two-words-1.5.gemspec").unlink()
    assert await must_change(packages=[OTHER[kind]]) == f"installed {OTHER[kind]}"
    assert await must_change(ensure="absent") == "removed the directory"
    assert not path.exists()


async def test_the_newest_version_is_followed(must_change, converge, registry, kind):
    _, new = VERSIONS[kind]
    assert (await converge(packages=[LATEST[kind]]))[1].endswith(f"installed one {new}")
    newest = new.replace("2", "3", 1)
    registry.publish("one", newest)
    assert await must_change(packages=[LATEST[kind]]) == f"installed one {newest}"


async def test_what_the_registry_lacks_is_told_before(converge, kind, tmp_path):
    for packages in (["none-such"], [OLD[kind].replace("1.0", "7.7", 1)]):
        for noop in (True, False):
            result, words = await converge(noop=noop, packages=packages)
            assert result is Result.FAILED, words
            assert not noop or "the registry has no" in words
    result, words = await converge(noop=True, packages=["one"], registry="http://127.0.0.1:9/")
    assert result is Result.FAILED


async def test_what_is_not_ours_is_left_alone(converge, tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/mine").write_text("mine")
    for properties in ({"packages": ["one"]}, {"ensure": "absent"}):
        for noop in (True, False):
            assert (await converge(noop=noop, **properties))[0] is Result.FAILED
    assert (tmp_path / "tools/mine").read_text() == "mine"


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_a_directory_of_packages_keeps_the_contract(promise, registry, kind, tmp_path):
    path = tmp_path / "tools"

    def spoil():
        if kind == "npm":
            shutil.rmtree(path / "lib/node_modules/one")
        else:
            next(path.glob("specifications/one-*")).unlink()

    await promise(
        Case(
            make=lambda: KINDS[kind](name=str(path), packages=["one"], registry=registry.url),
            world=lambda: sorted(installed(kind, path)) if path.exists() else None,
            spoil=spoil,
        )
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
@pytest.mark.parametrize("spoilt", ["owner", "writable", "way", "part"])
async def test_root_runs_nothing_that_another_user_can_change(kind, registry, spoilt):
    with tempfile.TemporaryDirectory(prefix="tools-") as root:
        os.chmod(root, 0o755)
        home = Path(root) / "home"
        (home / "tools/lib" if kind == "npm" else home / "tools/gems").mkdir(parents=True)
        given = {"owner": home / "tools", "way": home, "part": next((home / "tools").iterdir())}
        if spoilt in given:
            os.chown(given[spoilt], 65534, 65534)
        else:
            (home / "tools").chmod(0o777)
        for noop in (True, False):
            resource = KINDS[kind](name=str(home / "tools"), packages=["one"], registry=registry.url)
            _, story = await converge_once(resource, options=RunOptions(noop=noop))
            assert story.result(resource.ref) is Result.FAILED


@pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
async def test_nothing_is_run_in_a_directory_that_another_user_made_in_the_meantime(kind):
    with tempfile.TemporaryDirectory(prefix="tools-") as root:
        os.chmod(root, 0o755)
        home = Path(root) / "home"
        resource = KINDS[kind](name=str(home / "tools"), packages=["one"])
        make, _ = resource.plan(await resource.observe(), refresh=False)
        home.mkdir()
        os.chown(home, 65534, 65534)
        with pytest.raises(ResourceError, match="other users may replace"):
            await make.run()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
async def test_a_full_disk_is_a_failure_that_the_next_run_repairs(converge, kind, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755,nr_inodes=4", "none", disk], check=True)
    try:
        properties = {"name": str(disk / "tools"), "packages": [OLD[kind]]}
        assert (await converge(**properties))[0] is Result.FAILED
        subprocess.run(["mount", "-o", "remount,nr_inodes=1000", disk], check=True)
        assert (await converge(**properties))[0] is Result.CHANGED
        assert any("one" in each for each in installed(kind, disk / "tools"))
    finally:
        # Whoever looks at all file systems of the machine may be at this one.
        subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"packages": ["-g"]}, "is not a package"),
        ({"packages": ["one two"]}, "is not a package"),
        ({"packages": ["one", "one"]}, "listed twice"),
        ({"packages": ["one"], "unwanted": ["one"]}, "wanted and unwanted"),
        ({"registry": "ftp://x"}, "must be a URL"),
    ],
)
def test_what_makes_no_sense_is_found_at_load(kind, properties, words):
    with pytest.raises(ValueError, match=words):
        KINDS[kind](name="/x", **properties)


async def test_a_dry_run_says_that_what_is_immutable_keeps_the_packages(converge, kind, tmp_path):
    await converge(packages=[OLD[kind]])
    tools = tmp_path / "tools"
    removal = {"ensure": "absent"}
    for fixed, wanted in (
        (tools / KINDS[kind].listed_in, {"packages": [OTHER[kind]]}),
        (tmp_path, removal),
        (tools, removal),
    ):
        before = sorted(tmp_path.rglob("*"))
        with immutable(fixed):
            for noop in (True, False):
                assert (await converge(noop=noop, **wanted))[0] is Result.FAILED
                assert sorted(tmp_path.rglob("*")) == before or not noop


@pytest.mark.parametrize(
    "words", ["npm error code SELF_SIGNED_CERT_IN_CHAIN", "reason: unable to get local issuer certificate"]
)
def test_npm_gets_a_hint_when_it_does_not_know_the_authority_of_the_registry(words, tmp_path):
    assert "cafile=/etc/ssl/certs/ca-certificates.crt" in Npm(name=str(tmp_path)).hint_for(words)
    assert Npm(name=str(tmp_path)).hint_for("npm error code E404") is None
