"""What a scaffold takes for the litter of a killed run: temporary files by their whole name, and nothing else of anybody."""

import fcntl
import os

import pytest
from scaffold_worlds import converge, grow, look, make, tree

from reactor.hostfs.temp_files import temporary_name
from reactor.resource.declared import declare

FOREIGN = (
    ".env.reactor",
    ".reactorrc",
    ".reactor",
    ".reactor.yaml",
    ".a.reactor",
    ".a.0123456789ab.reactor~",
    ".a.0123456789AB.reactor",
    ".a.0123456789.reactor",
    "a.0123456789ab.reactor",
    ".a.0123456789ab.reactor.d.conf",
    "sub/.env.reactor",
)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("ensure", ["present", "absent"])
async def test_files_of_others_that_are_only_named_alike_stay(tmp_path, first, ensure):
    grow(tmp_path / "templates", {"a": "a"})
    scaffold = make(tmp_path, ensure=ensure)
    if not first:
        await converge(scaffold)
    grow(tmp_path / "out", dict.fromkeys(FOREIGN, "precious"))
    for name in FOREIGN:
        scaffold._changed_paths.add(str(tmp_path / "out" / name))
    await converge(scaffold)
    assert {name: text for name, text in tree(tmp_path / "out").items() if name != "a"} == dict.fromkeys(
        FOREIGN, "precious"
    )


async def test_with_purge_they_go_as_any_other_file_and_are_shown(tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    grow(tmp_path / "out", {"a": "a", ".env.reactor": "text"})
    (action,) = await look(make(tmp_path, purge=True))
    assert action.did == "changed 1 scaffold files"
    assert "-text" in await (await action.diff())()


async def test_each_temporary_file_that_is_removed_is_named(tmp_path, said):
    grow(tmp_path / "templates", {"a": "a"})
    litter = [temporary_name(f"a{number:02}") for number in range(12)]
    grow(tmp_path / "out", dict.fromkeys(litter, "half"))
    (action,) = await look(make(tmp_path))
    paths = sorted(str(tmp_path / "out" / name) for name in litter)
    shown = ", ".join(paths[:10]) + " and 2 more"
    assert (
        action.would
        == f"Would have changed 1 scaffold files, removed temporary files of an interrupted run: {shown}"
    )
    await action.run()
    assert tree(tmp_path / "out") == {"a": "a"}
    assert said == [f"removed {path}, a temporary file of an interrupted run" for path in paths]


async def test_a_temporary_file_that_was_taken_up_meanwhile_stays(tmp_path, said):
    grow(tmp_path / "templates", {"a": "a"})
    name = temporary_name("a")
    grow(tmp_path / "out", {name: "half"})
    (action,) = await look(make(tmp_path))
    fd = os.open(tmp_path / "out" / name, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        await action.run()
    finally:
        os.close(fd)
    assert tree(tmp_path / "out") == {"a": "a", name: "half"}
    assert said == []


async def killed_before_its_files(tmp_path, **properties):
    """The directories of a scaffold that was killed when it had made them; and one of templates that are gone."""
    grow(tmp_path / "templates", {"a": "a", "sub/deep/b": "b"})
    (tmp_path / "out" / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "out" / "old" / "deep").mkdir(parents=True)
    return make(tmp_path, **properties)


async def test_empty_directories_of_a_killed_run_are_used(tmp_path):
    await converge(await killed_before_its_files(tmp_path))
    assert tree(tmp_path / "out") == {"a": "a", "sub/deep/b": "b"}
    assert (tmp_path / "out" / "old" / "deep").is_dir()


async def test_with_purge_empty_directories_that_no_template_needs_go(tmp_path):
    scaffold = await killed_before_its_files(tmp_path, purge=True)
    assert await converge(scaffold) == ["changed 2 scaffold files, removed 2 empty directories"]
    assert tree(tmp_path / "out") == {"a": "a", "sub/deep/b": "b"}
    assert not (tmp_path / "out" / "old").exists()
    (tmp_path / "out" / "later").mkdir()
    scaffold._changed_paths.add(str(tmp_path / "out" / "later"))
    assert await converge(scaffold) == ["removed 1 empty directories"]


async def test_with_absent_the_empty_directories_of_the_scaffold_go(tmp_path):
    scaffold = await killed_before_its_files(tmp_path, ensure="absent")
    assert await converge(scaffold) == ["removed 2 empty directories"]
    assert not (tmp_path / "out" / "sub").exists()
    assert (tmp_path / "out" / "old" / "deep").is_dir()


async def test_with_absent_a_directory_with_both_goes_whole(tmp_path):
    grow(tmp_path / "templates", {"sub/a": "a", "sub/deep/b": "b"})
    grow(tmp_path / "out", {"sub/a": "a"})
    (tmp_path / "out" / "sub" / "deep").mkdir()
    await converge(make(tmp_path, ensure="absent"))
    assert not (tmp_path / "out").exists()


async def test_a_managed_directory_that_is_empty_is_not_purged(tmp_path):
    scaffold = await killed_before_its_files(tmp_path, purge=True)
    managed = frozenset({str(tmp_path / "out" / "old" / "deep")})
    declare(scaffold, scaffold.declared._replace(managed_paths=managed))
    await converge(scaffold)
    assert (tmp_path / "out" / "old" / "deep").is_dir()
