"""The kind sysctl, on the parameters of a network namespace of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import trio
from hostkinds_worlds import assert_undone
from one_shot import checked
from trio.testing import MockClock, wait_all_tasks_blocked

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.plan import ResourceError
from reactor.resource.watch import WatchState
from reactor.resources.sysctl import Sysctl
from reactor.resources.sysctl.kind import Key, SysctlState, parse_key
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running
from reactor.watchers.path_tree import POLL_INTERVAL

FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
OURS = Path("/etc/sysctl.d/zz-reactor-net.ipv4.ip_forward.conf")
HEADER = "# Managed by reactor: what is changed here is changed back.\n"


@pytest.fixture(autouse=True)
def former_values():
    before = {path: path.read_text() for path in (FORWARD, PORTS)}
    yield
    for path, value in before.items():
        path.write_text(value)


@pytest.fixture
def going_clock():
    """It goes as fast as that of the host, and jumps only when it is told to."""
    return MockClock(rate=1.0)


def world():
    files = {path.name: path.read_text() for path in Path("/etc/sysctl.d").iterdir()}
    return FORWARD.read_text(), PORTS.read_text(), files


def now():
    return FORWARD.read_text(), OURS.read_text() if OURS.exists() else None


def one_number():
    return Case(lambda: Sysctl(name="net.ipv4.ip_forward", value="1"), world, lambda: FORWARD.write_text("0"))


def several_numbers():
    return Case(
        lambda: Sysctl(name="net/ipv4/ip_local_port_range", value="20000  30000"),
        world,
        lambda: PORTS.write_text("20000 30001"),
    )


def now_only():
    return Case(
        lambda: Sysctl(name="net.ipv4.ip_forward", value="1", persist=False),
        world,
        lambda: OURS.write_text("vandal"),
    )


def absent():
    OURS.write_text("net.ipv4.ip_forward = 1\n")
    return Case(
        lambda: Sysctl(name="net.ipv4.ip_forward", ensure="absent"), world, lambda: OURS.write_text("vandal")
    )


async def test_what_takes_the_kernel_long_holds_nothing_up(monkeypatch):
    others_go_on, write = threading.Event(), os.write

    def slow_write(fd, data):
        if os.readlink(f"/proc/self/fd/{fd}") == str(FORWARD):
            assert others_go_on.wait(60)
        return write(fd, data)

    monkeypatch.setattr("reactor.resources.sysctl.kind.os.write", slow_write)
    FORWARD.write_text("0")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(converge_once, Sysctl(name="net.ipv4.ip_forward", value="1", persist=False))
        await wait_all_tasks_blocked(0.05)
        others_go_on.set()
    assert FORWARD.read_text() == "1\n"


@pytest.mark.parametrize(
    "case", [one_number, several_numbers, now_only, absent], ids=lambda case: case.__name__
)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_sysctl_kind_keeps_the_contract(promise, case):
    await promise(case())


TEXT = f"{HEADER}net.ipv4.ip_forward = 1\n"
SET, WRITE, REMOVE = "set it to 1, from 0", f"wrote {OURS}", f"removed {OURS}"


@pytest.mark.parametrize(
    ("properties", "state", "steps"),
    [
        ({"value": "1"}, SysctlState("1", TEXT), []),
        ({"value": "1"}, SysctlState("0", TEXT), [SET]),
        ({"value": "1"}, SysctlState("1", None), [WRITE]),
        ({"value": "1"}, SysctlState("1", "other"), [WRITE]),
        ({"value": "1"}, SysctlState("0", None), [SET, WRITE]),
        ({"value": "1", "persist": False}, SysctlState("1", None), []),
        ({"value": "1", "persist": False}, SysctlState("0", TEXT), [SET, REMOVE]),
        ({"ensure": "absent"}, SysctlState(None, None), []),
        ({"ensure": "absent"}, SysctlState(None, TEXT), [REMOVE]),
    ],
)
def test_each_state_leads_to_its_plan(properties, state, steps):
    plan = Sysctl(name="net.ipv4.ip_forward", **properties).plan(state, refresh=False)
    assert [action.did for action in plan] == steps
    assert [action.would for action in plan] == [
        f"Would have {step}".replace("wrote", "written") for step in steps
    ]


@pytest.mark.parametrize(
    "spoil",
    [
        "echo 0 > /proc/sys/net/ipv4/ip_forward",
        "sysctl -qw net.ipv4.ip_forward=0",
        f"rm {OURS}",
        f"echo net.ipv4.ip_forward=0 > {OURS}",
        "rm -r /etc/sysctl.d; mkdir /etc/sysctl.d",
    ],
)
async def test_what_is_done_behind_its_back_is_undone_by_its_event(spoil):
    resource = Sysctl(name="net.ipv4.ip_forward", value="1")
    async with running(resource) as story:
        await story.converged()
        subprocess.run(["sh", "-ec", spoil], check=True)
        wanted = ("1\n", TEXT)
        assert now() != wanted
        await story.until(lambda: now() == wanted)


async def test_a_value_that_the_kernel_changes_by_itself_is_found_by_polling_and_that_is_said(going_clock):
    """Setting forwarding of all interfaces sets ip_forward, too, and raises no event for it.

    A thread writes the value. A clock that jumps while everybody waits would use up all patience before that has ended.
    """
    resource = Sysctl(name="net.ipv4.ip_forward", value="1", persist=False)
    async with running(resource) as story:
        await story.converged()
        reports = [event for event in story.events if getattr(event, "state", None) is WatchState.POLLING]
        assert {report.ref for report in reports} == {resource.ref}
        assert "proc at /proc/sys/net/ipv4 does not announce every change" in reports[0].reason
        Path("/proc/sys/net/ipv4/conf/all/forwarding").write_text("0")
        assert FORWARD.read_text() == "0\n"
        going_clock.jump(POLL_INTERVAL)
        await story.until(lambda: FORWARD.read_text() == "1\n")


async def test_a_value_that_the_kernel_refuses_is_not_kept_for_the_next_boot():
    resource = Sysctl(name="net.ipv4.ip_local_port_range", value="30000 20000")
    before = world()
    ended, story = await converge_once(resource)
    assert ended.counts[Result.FAILED] == 1
    words = "the kernel refuses '30000 20000' for net.ipv4.ip_local_port_range"
    assert story.checks(resource.ref)[-1].error == words
    assert world() == before


async def test_a_value_of_a_kernel_module_that_is_not_there_names_what_is_missing():
    resource = Sysctl(name="net.ipv4.tcp_congestion_control", value="nosuch")
    check = await checked(resource)
    assert check.error == "the kernel refuses 'nosuch' for net.ipv4.tcp_congestion_control"
    assert check.hint == "correct it, or require the kernel_module that brings nosuch"


async def test_fewer_numbers_than_the_kernel_has_are_refused_before_anything_is_written():
    """The kernel takes them, and keeps its own in the place of the others."""
    resource = Sysctl(name="net.ipv4.ip_local_port_range", value="20000")
    before = world()
    for noop in (True, False):
        _, story = await converge_once(resource, options=RunOptions(noop=noop))
        error = story.checks(resource.ref)[-1].error
        assert error == "net.ipv4.ip_local_port_range has 2 numbers, and the value has 1"
    assert world() == before


async def test_a_parameter_that_nobody_can_read_is_told_to_be_one_to_write():
    resource = Sysctl(name="net.ipv4.route.flush", value="1")
    with pytest.raises(ResourceError, match="Permission denied") as raised:
        await resource.observe()
    assert "exec" in raised.value.hint


async def test_a_parameter_that_can_not_be_written_is_told_alike_before_and_by_a_run():
    resource = Sysctl(name="kernel.ostype", value="Unix")
    with pytest.raises(ResourceError) as before:
        await resource.preflight(await resource.observe())
    with pytest.raises(ResourceError) as then:
        await resource.plan(await resource.observe(), refresh=False)[0].run()
    assert str(before.value) == str(then.value) == "cannot set kernel.ostype: it is read-only here"
    assert before.value.hint == then.value.hint


@pytest.mark.parametrize("name", ["net.ipv4.ip_froward", "net.ipv4"])
async def test_a_parameter_that_the_kernel_has_not_is_named(name):
    resource = Sysctl(name=name, value="1")
    with pytest.raises(ResourceError, match=f"the kernel has no parameter {name}$"):
        resource.plan(await resource.observe(), refresh=False)


async def test_a_parameter_of_an_interface_with_a_dot_is_persisted_in_the_form_with_slashes():
    subprocess.run(["ip", "link", "add", "eth0.100", "type", "veth", "peer", "name", "peer0"], check=True)
    try:
        await converge_once(Sysctl(name="net.ipv4.conf.eth0/100.forwarding", value="1"))
        assert Path("/proc/sys/net/ipv4/conf/eth0.100/forwarding").read_text() == "1\n"
        file = Path("/etc/sysctl.d/zz-reactor-net.ipv4.conf.eth0:100.forwarding.conf")
        assert file.read_text() == f"{HEADER}net/ipv4/conf/eth0.100/forwarding = 1\n"
        Path("/proc/sys/net/ipv4/conf/eth0.100/forwarding").write_text("0")
        subprocess.run(["sysctl", "-q", "-p", file], check=True)
        assert Path("/proc/sys/net/ipv4/conf/eth0.100/forwarding").read_text() == "1\n"
    finally:
        subprocess.run(["ip", "link", "del", "eth0.100"], check=True)


async def test_our_file_is_read_after_all_others():
    await converge_once(Sysctl(name="net.ipv4.ip_forward", value="1"))
    names = sorted([*os.listdir("/etc/sysctl.d"), "99-sysctl.conf"])
    assert names[-1] == OURS.name


@pytest.mark.parametrize(
    ("file", "resource"),
    [
        (None, Sysctl(name="net.ipv4.ip_forward", value="1")),
        (None, Sysctl(name="net.ipv4.ip_forward", value="1", persist=False)),
        (f"{HEADER}net.ipv4.ip_forward = 0\n", Sysctl(name="net.ipv4.ip_forward", value="1")),
        (f"{HEADER}net.ipv4.ip_forward = 0\n", Sysctl(name="net.ipv4.ip_forward", ensure="absent")),
    ],
)
async def test_it_is_undone_by_the_value_that_was_there(file, resource):
    if file is not None:
        OURS.write_text(file)
    await assert_undone(resource, world)


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("net.ipv4.ip_forward", ["/etc/sysctl.d"]),
        ("net.ipv6.conf.eth0/100.accept_ra", ["/etc/sysctl.d", "/sys/class/net/eth0.100"]),
        ("net.ipv4.neigh.br0.gc_stale_time", ["/etc/sysctl.d", "/sys/class/net/br0"]),
    ],
)
def test_a_parameter_of_a_link_goes_after_the_link(name, uses):
    assert list(Sysctl(name=name, value="1").relations().depends_on) == uses


async def test_noop_shows_the_file():
    _, story = await converge_once(
        Sysctl(name="net.ipv4.ip_forward", value="1"), options=RunOptions(noop=True, diff=True)
    )
    (check,) = story.checks("sysctl#net.ipv4.ip_forward")
    assert check.actions == (f"Would have {SET}", f"Would have written {OURS}")
    assert "+net.ipv4.ip_forward = 1\n" in check.diffs[0]
    assert FORWARD.read_text() == "0\n"


@pytest.mark.parametrize(
    ("name", "components"),
    [
        ("net.ipv4.ip_forward", ("net", "ipv4", "ip_forward")),
        ("net/ipv4/ip_forward", ("net", "ipv4", "ip_forward")),
        ("net.ipv4.conf.eth0/100.forwarding", ("net", "ipv4", "conf", "eth0.100", "forwarding")),
        ("net/ipv4/conf/eth0.100/forwarding", ("net", "ipv4", "conf", "eth0.100", "forwarding")),
    ],
)
def test_both_forms_of_a_name_mean_the_same(name, components):
    assert parse_key(name) == Key(components)
    assert parse_key(Key(components).dotted) == Key(components)
    assert list(Sysctl(name=name, value="1").claims()) == [
        *Sysctl(name="/".join(components), value="1").claims()
    ]


@pytest.mark.parametrize(
    "name",
    ["forward", "net.ipv4.*", "net..ipv4", ".net.ipv4", "net.ipv4.", "/net/ipv4", "net/../ipv4", "a.b c", "a.$(id)", "net.ipv4\n"],
)  # fmt: skip
def test_what_is_no_parameter_is_refused(name):
    with pytest.raises(ValueError, match="not a kernel parameter"):
        Sysctl(name=name, value="1")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, "value is required"),
        ({"ensure": "absent", "value": "1"}, "value is only valid with 'ensure: present'"),
        ({"value": "1\n2"}, "one line of text"),
    ],
)
def test_what_can_not_be_meant_is_refused(properties, message):
    with pytest.raises(ValueError, match=message):
        Sysctl(name="kernel.hostname", **properties)


@pytest.mark.parametrize(("word", "number"), [("true", "1"), ("false", "0")])
def test_a_switch_of_yaml_is_a_number_of_the_kernel(tmp_path, word, number):
    FORWARD.write_text("1" if number == "0" else "0")
    manifest = tmp_path / "m.yaml"
    manifest.write_text(f"resources:\n  - sysctl:\n      - net.ipv4.ip_forward: {{value: {word}}}\n")
    command = [
        sys.executable,
        "-m",
        "reactor",
        "run",
        "--converge-once",
        "--state-dir",
        tmp_path / "state",
        manifest,
    ]
    subprocess.run(command, check=True, capture_output=True)
    assert FORWARD.read_text() == f"{number}\n"
    assert OURS.read_text() == f"{HEADER}net.ipv4.ip_forward = {number}\n"
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "changed 0" in again.stdout


@pytest.mark.parametrize("value", ["0", "1"])
def test_from_the_shell_a_parameter_keeps_its_value_unless_one_is_given(value):
    FORWARD.write_text(value)
    assert Sysctl.shell_defaults("net.ipv4.ip_forward", "present") == {"value": value}
    for name, ensure in (("net.ipv4.ip_forward", "absent"), ("net.none", "present"), ("../x", "present")):
        assert Sysctl.shell_defaults(name, ensure) == {}
