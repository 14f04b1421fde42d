"""Values that the kernel writes down in other words than the manifest: set once, and then left alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reactor.engine.events import Result
from reactor.hostfs import NormalForms, spelled_alike
from reactor.resource.backup_store import state_directory_for
from reactor.resources.mount import Mount
from reactor.resources.mount.mount_table import mounts_at
from reactor.resources.sysctl import Sysctl
from reactor.testing.story import converge_once

IPV4 = Path("/proc/sys/net/ipv4")


@pytest.fixture(autouse=True)
def former_values():
    names = ("ip_local_reserved_ports", "tcp_fin_timeout", "tcp_fastopen_key")
    before = {name: (IPV4 / name).read_text() for name in names}
    yield
    for name, value in before.items():
        (IPV4 / name).write_text(value)


@pytest.fixture(autouse=True)
def state(tmp_path):
    (tmp_path / "state").mkdir()
    with state_directory_for(str(tmp_path / "state")):
        yield


async def result_of(resource):
    """How its check in a run of its own ended."""
    _, story = await converge_once(resource)
    return story.result(resource.ref)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("ip_local_reserved_ports", "8080,8081", "8080-8081"),
        ("ip_local_reserved_ports", "9000,8080-8081", "8080-8081,9000"),
        ("tcp_fin_timeout", "0x3b", "59"),
        ("tcp_fastopen_key", "1-2-3-A", "00000001-00000002-00000003-0000000a"),
    ],
)
async def test_a_parameter_in_other_words_is_set_once(name, value, shown):
    def make():
        return Sysctl(name=f"net.ipv4.{name}", value=value, persist=False)

    assert await result_of(make()) is Result.CHANGED
    assert (IPV4 / name).read_text().strip() == shown
    assert await result_of(make()) is Result.OK


async def test_what_another_user_writes_is_no_form_of_the_value():
    resource = Sysctl(name="net.ipv4.tcp_fastopen_key", value="1-2-3-A", persist=False)
    await result_of(resource)
    (IPV4 / "tcp_fastopen_key").write_text("9-9-9-9")
    assert await result_of(resource) is Result.CHANGED
    assert (IPV4 / "tcp_fastopen_key").read_text().strip().endswith("0000000a")
    assert await result_of(resource) is Result.OK


async def test_another_value_in_the_manifest_is_written():
    await result_of(Sysctl(name="net.ipv4.tcp_fastopen_key", value="1-2-3-A", persist=False))
    edited = Sysctl(name="net.ipv4.tcp_fastopen_key", value="1-2-3-B", persist=False)
    assert await result_of(edited) is Result.CHANGED
    assert (IPV4 / "tcp_fastopen_key").read_text().strip().endswith("0000000b")


@pytest.mark.parametrize(
    ("option", "shown"), [("size=0x100000", "size=1024k"), ("mpol=interleave:0-0", "mpol=interleave:0")]
)
async def test_a_mount_option_in_other_words_is_mounted_once(tmp_path, option, shown):
    point = tmp_path / "point"
    point.mkdir()

    def make():
        return Mount(name=str(point), device="tmpfs", fstype="tmpfs", options=option)

    try:
        assert await result_of(make()) is Result.CHANGED
        assert shown in mounts_at(str(point))[-1].options
        assert await result_of(make()) is Result.OK
        subprocess.run(["mount", "-o", "remount,size=3m,mpol=bind:0", point], check=True)
        assert await result_of(make()) is Result.CHANGED
        assert shown in mounts_at(str(point))[-1].options
    finally:
        subprocess.run(["umount", point], check=True)


@pytest.mark.parametrize(
    ("wanted", "found", "alike"),
    [
        ("60", "60", True),
        ("0x3c", "60", True),
        ("1k", "1024", True),
        ("010", "8", True),
        ("4096 0x10", "4096 16", True),
        ("1,2,3,5", "1-3,5", True),
        ("1,2", "1-3", False),
        ("1", "0", False),
        ("1-3", "-2", False),
        ("bbr", "cubic", False),
        ("", "0", False),
        ("a,b", "b,a", False),
    ],
)
def test_numbers_and_sets_of_numbers_are_compared_as_such(wanted, found, alike):
    assert spelled_alike(wanted, found) is alike


@pytest.mark.parametrize(
    ("wanted", "before", "found"),
    [
        ("1", "0", "2"),
        ("bbr", "cubic", "reno"),
        ("10 20", "1 2", "10 30"),
        ("1-2-3-A", "0-0-0-9", "0-0-0-9"),
    ],
)
def test_another_value_and_a_write_that_changed_nothing_are_no_normal_form(wanted, before, found):
    forms = NormalForms("sysctl", "a.b")
    assert not forms.learn("value", wanted, before, found)
    assert not forms.agrees("value", wanted, found)


def test_a_broken_record_is_none(tmp_path):
    forms = NormalForms("sysctl", "a.b")
    assert forms.learn("value", "A", "b", "0a")
    (record,) = (tmp_path / "state/records").iterdir()
    record.write_text("{")
    assert not NormalForms("sysctl", "a.b").agrees("value", "A", "0a")


def test_what_is_remembered_reports_no_value(tmp_path):
    assert NormalForms("sysctl", "a.b").learn("value", "Wanted-1", "b", "found-1")
    (record,) = (tmp_path / "state/records").iterdir()
    assert "anted" not in record.read_text()
    assert "found" not in record.read_text()
    assert NormalForms("sysctl", "a.b").agrees("value", "Wanted-1", "found-1")
