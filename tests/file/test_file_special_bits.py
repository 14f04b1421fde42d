"""setgid and sticky are properties of their own; what is not managed of a directory stays, and people see all twelve bits."""

import stat

import pytest
from file_worlds import converge, look, make, mode_of
from property_problems import the_problem

from reactor.resource.plan import ResourceError
from reactor.resources.file import File


def a_directory(path, **properties):
    return make(path, ensure="directory", mode="0755", **properties)


@pytest.mark.parametrize(
    ("properties", "before", "after"),
    [
        ({"setgid": True}, 0o755, 0o2755),
        ({"setgid": False}, 0o2755, 0o755),
        ({"sticky": True}, 0o755, 0o1755),
        ({"sticky": False}, 0o1755, 0o755),
        ({"setgid": True, "sticky": True}, 0o700, 0o3755),
        ({"setgid": True}, 0o1755, 0o3755),
        ({"sticky": False}, 0o7755, 0o6755),
        ({}, 0o3777, 0o3755),
    ],
)
async def test_only_what_is_managed_of_a_directory_is_changed(properties, before, after, tmp_path):
    path = tmp_path / "d"
    path.mkdir()
    path.chmod(before)
    resource = a_directory(path, **properties)
    assert await converge(resource) == [f"changed mode from {before:04o} to {after:04o}"]
    assert mode_of(path) == after
    assert await look(resource) == ()


@pytest.mark.parametrize("bits", [0o1755, 0o2755, 0o4755, 0o7755])
async def test_bits_that_are_not_managed_are_no_drift_of_a_directory(bits, tmp_path):
    path = tmp_path / "d"
    path.mkdir()
    path.chmod(bits)
    assert await look(a_directory(path)) == ()


async def test_a_new_directory_has_them(tmp_path):
    await converge(a_directory(tmp_path / "d", setgid=True, sticky=True))
    assert mode_of(tmp_path / "d") == 0o3755


async def test_a_new_directory_does_not_inherit_what_it_is_not_to_have(tmp_path):
    tmp_path.chmod(0o2755)
    await converge(a_directory(tmp_path / "kept"))
    await converge(a_directory(tmp_path / "not", setgid=False))
    assert (mode_of(tmp_path / "kept"), mode_of(tmp_path / "not")) == (0o2755, 0o755)


@pytest.mark.parametrize("owner", ["0", "1"])
@pytest.mark.parametrize("content", [None, "x"])
async def test_a_file_has_setgid_only_if_it_says_so(owner, content, tmp_path):
    path = tmp_path / "f"
    resource = make(path, content=content, owner=owner, mode="0755", setgid=True)
    await converge(resource)
    assert mode_of(path) == 0o2755
    assert await look(resource) == ()
    path.chmod(0o6755)
    await converge(make(path, content=content, owner=owner, mode="0755"))
    assert mode_of(path) == 0o755


async def test_show_reports_all_twelve_bits(tmp_path):
    path = tmp_path / "d"
    path.mkdir()
    path.chmod(0o7750)
    found = await File(name=str(path), ensure="absent").describe()
    assert {key: found[key] for key in ("mode", "setuid", "setgid", "sticky")} == {
        "mode": "0750", "setuid": True, "setgid": True, "sticky": True,
    }  # fmt: skip
    path.chmod(0o750)
    assert (
        not {"setuid", "setgid", "sticky"} & (await File(name=str(path), ensure="absent").describe()).keys()
    )


async def test_the_bits_of_a_directory_are_brought_back(tmp_path):
    path = tmp_path / "d"
    path.mkdir()
    path.chmod(0o2700)
    resource = a_directory(path, setgid=False, sticky=True)
    undone = await resource.reversal(await resource.observe())
    await converge(resource)
    await converge(undone)
    assert mode_of(path) == 0o2700


async def test_setuid_can_not_be_brought_back(tmp_path):
    path = tmp_path / "f"
    path.write_text("x")
    path.chmod(path.stat().st_mode | stat.S_ISUID)
    resource = make(path, content="y")
    with pytest.raises(ResourceError, match="setuid"):
        await resource.reversal(await resource.observe())


def test_a_file_is_not_sticky_and_a_mode_still_has_nine_bits(tmp_path):
    own = {"name": "/f", "ensure": "present", "owner": "0", "group": "0"}
    assert the_problem(File, **own, mode="0644", sticky=True).message == (
        "sticky is only valid with 'ensure: directory'"
    )
    assert "write setgid: true or sticky: true" in the_problem(File, **own, mode="2755").message
