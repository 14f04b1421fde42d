"""The kind firewall, on the kernel's nftables in a network namespace of the tests' own."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trio
from firewall_worlds import OTHERS, RULES_FILE, UNIT, firewall, nft, ours, rule, tables, world
from hostkinds_worlds import assert_undone

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import state_directory_for
from reactor.resource.plan import ResourceError
from reactor.resources.firewall import Firewall
from reactor.resources.firewall.kernel import read_table
from reactor.resources.firewall.ruleset import rule_lines
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

SSH, WEB = rule(accept="tcp/22", from_="10.0.0.0/8"), rule(accept=["tcp/80", "tcp/443"], comment="web")
NAT = """
set admins { type ipv4_addr; flags interval; elements = { 10.1.0.0/16, 10.7.0.1 } }
set seen { type ipv4_addr; flags dynamic, timeout; timeout 1h; }
chain nat { type nat hook postrouting priority srcnat; oifname "eth0" masquerade; }
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path):
    """A state directory, a directory for units, and no tables but that of another program."""
    nft("flush", "ruleset")
    nft("-f", "-", text=OTHERS)
    os.makedirs("/etc/systemd/system")
    with state_directory_for(str(tmp_path / "state")):
        yield tmp_path / "state"
    assert "table inet others {" in tables()
    nft("flush", "ruleset")


CASES = {
    "rules": (lambda: firewall(SSH, WEB), lambda: nft("add", "rule", "inet", "reactor", "input", "accept")),
    "no rules": (firewall, lambda: nft("delete", "table", "inet", "reactor")),
    "flushed by others": (lambda: firewall(SSH), lambda: nft("-f", "-", text=f"flush ruleset\n{OTHERS}")),
    "a dormant table": (
        lambda: firewall(SSH), lambda: nft("-f", "-", text="add table inet reactor { flags dormant; }"),
    ),
    "another policy": (
        lambda: firewall(SSH, policy={"input": "drop", "forward": "drop", "output": "accept"}),
        lambda: nft("-f", "-", text="add chain inet reactor forward { policy accept; }"),
    ),
    "an element of a set": (
        lambda: firewall(declarations=NAT), lambda: nft("add", "element", "inet", "reactor", "admins", "{ 1.2.3.4 }"),
    ),
    "a named counter": (
        lambda: firewall(declarations="counter spare { }"), lambda: nft("delete", "counter", "inet", "reactor", "spare"),
    ),
    "its file": (lambda: firewall(SSH), RULES_FILE.unlink),
    "its link": (lambda: firewall(SSH), Path("/etc/systemd/system/sysinit.target.wants", UNIT).unlink),
    "not at boot": (
        lambda: firewall(SSH, persist=False), lambda: nft("flush", "chain", "inet", "reactor", "input"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_firewall_kind_keeps_the_contract(promise, case):
    make, spoil = CASES[case]
    await promise(Case(make, world, spoil))


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_an_absent_firewall_keeps_the_contract(promise):
    nft("add", "table", "inet", "reactor")
    make = lambda: Firewall(name="host", ensure="absent")  # noqa: E731
    await promise(Case(make, world, lambda: nft("add", "table", "inet", "reactor")))


LINES = [
    ({"accept": "tcp/22"}, ["tcp dport 22 accept"]),
    ({"accept": ["tcp/80", "tcp/443", "tcp/81-90", "tcp/85"]}, ["tcp dport { 80-90, 443 } accept"]),
    ({"accept": ["tcp/80", "udp/53", "icmp"]}, ["tcp dport 80 accept", "udp dport 53 accept", "meta l4proto { 1, 58 } accept"]),
    ({"accept": ["tcp", "tcp/80"]}, ["meta l4proto 6 accept"]),
    ({"drop": "any", "from": "192.0.2.7"}, ["ip saddr 192.0.2.7 drop"]),
    ({"drop": ["any", "tcp/80"]}, ["drop"]),
    ({"accept": "tcp/22", "from": ["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"]},
     ["ip saddr 10.0.0.0/8 tcp dport 22 accept", "ip6 saddr 2001:db8::/32 tcp dport 22 accept"]),
    ({"accept": "any", "from": ["10.0.0.0/8", "fd00::/8"], "to": "10.0.0.1"}, ["ip saddr 10.0.0.0/8 ip daddr 10.0.0.1 accept"]),
    ({"reject": "tcp", "in": ["eth0", "wlan*"], "out": "eth1", "chain": "forward"},
     ['iifname { "eth0", "wlan*" } oifname "eth1" meta l4proto 6 reject']),
    ({"drop": "any", "limit": "5/minute", "log": "dropped: ", "comment": "noise"},
     ['limit rate 5/minute log prefix "dropped: " drop comment "noise"']),
    ({"raw": "tcp dport { 1, 2 } limit rate 10/second accept", "comment": "own"},
     ['tcp dport { 1, 2 } limit rate 10/second accept comment "own"']),
    ({"accept": ["esp", "gre", "vrrp", "ah"]}, ["meta l4proto { 47, 50, 51, 112 } accept"]),
]  # fmt: skip


@pytest.mark.parametrize(("properties", "lines"), LINES)
def test_a_rule_is_written_for_nft_which_accepts_it(properties, lines):
    written = list(rule_lines(rule(**properties)))
    assert written == lines
    rules = "".join(f"{line}\n" for line in written)
    hook = "type filter hook forward priority 0;"
    nft("--check", "-f", "-", text=f"table inet scratch {{ chain c {{ {hook}\n{rules} }}\n}}\n")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("{rules: [{accept: 22}]}", "'22' is a port without its protocol: write tcp/22 or udp/22"),
        ("{rules: [{accept: tcp/99999}]}", "is not a port or a range of ports"),
        ("{rules: [{accept: tcp/90-80}]}", "is not a port or a range of ports"),
        ("{rules: [{accept: icmp/8}]}", "icmp has no ports"),
        ("{rules: [{accept: http}]}", "'http' is not a service"),
        ("{rules: [{accept: 22/tcp}]}", "'22/tcp' is not a service: write tcp/22"),
        ("{rules: [22/tcp]}", "a rule is a map: write {accept: tcp/22}"),
        ("{rules: [53/udp]}", "a rule is a map: write {accept: udp/53}"),
        ("{rules: [443]}", "a rule is a map: write {accept: tcp/443}"),
        ("{rules: [ssh]}", "a rule is a map: write {accept: tcp/22}"),
        ("{rules: [{accept: tcp/nosuchservice}]}", "has no service 'nosuchservice' of tcp"),
        ("{rules: [{accept: []}]}", "the list is empty"),
        ("{rules: [{acept: tcp/22}]}", "acept"),
        ("{rules: [{from: 10.0.0.0/8}]}", "exactly one of accept, drop, reject and raw; this one has none"),
        ("{rules: [{accept: any, drop: any}]}", "this one has accept and drop"),
        ("{rules: [{accept: any, from: 10.0.0.1/8}]}", "has bits set after its prefix: write 10.0.0.0/8"),
        ("{rules: [{accept: any, from: example.org}]}", "is not an address or a network"),
        ("{rules: [{accept: any, out: eth0}]}", "the chain input has no `out`"),
        ("{rules: [{accept: any, from: 10.0.0.0/8, to: 'fd00::/8'}]}", "no address family in common"),
        ("{rules: [{raw: accept, from: 10.0.0.0/8}]}", "from has no effect beside raw"),
        ("{rules: [{raw: 'accept }; delete table inet others'}]}", "braces are not balanced"),
        ("{rules: [{raw: 'accept; drop'}]}", "a raw rule has no ;"),
        ('{rules: [{raw: "accept\\ndrop"}]}', "a raw rule is one line"),
        ("{rules: [{raw: 'accept comment \"a'}]}", "a quotation mark is not closed"),
        ("{rules: [{raw: 'include \"/etc/shadow\"'}]}", "include begins no rule"),
        ("{rules: [{accept: any, comment: 'a\" drop'}]}", "can't be written in a rule"),
        ("{rules: [{accept: any, limit: 10/s}]}", "is not a limit"),
        ("{declarations: '} table inet others {'}", "braces are not balanced"),
        ("{declarations: 'include \"/etc/shadow\"'}", "nothing can be included"),
        ("{table: 'a b'}", "is not the name of a table"),
        ("{ensure: absent, rules: [{accept: any}]}", "rules is only valid with"),
        ("{confirm: {connect: example.org}}", "is not an address with a port"),
        ("{policy: {input: reject}}", "accept"),
    ],
)  # fmt: skip
def test_a_wrong_manifest_is_told_with_its_line(tmp_path, properties, message):
    path = tmp_path / "manifest.yaml"
    path.write_text(f"resources:\n  - firewall:\n      - host: {properties}\n")
    with pytest.raises(ManifestError) as caught:
        load(str(path))
    [found] = caught.value.diagnostics
    assert message in found.message
    assert found.place.line == 3


def test_two_of_one_table_contradict_each_other(tmp_path):
    path = tmp_path / "manifest.yaml"
    path.write_text("resources:\n  - firewall: [a: {}, b: {rules: [{accept: tcp/22}]}, c: {table: other}]\n")
    with pytest.raises(ManifestError, match="nftables table reactor"):
        load(str(path))


def test_a_firewall_without_ssh_warns():
    def warned(*rules, **properties):
        return [problem.message for problem in firewall(*rules, **properties).warnings()]

    assert warned(WEB) == ["no rule accepts SSH, so it can't be used to come back"]
    assert warned(rule(accept="tcp/20-30")) == warned(rule(accept="any", from_="10.0.0.0/8")) == []
    assert warned(policy={"input": "accept"}) == warned(WEB, confirm={}) == []


async def test_what_packets_count_is_no_drift():
    counting = firewall(
        rule(raw='iifname "none" counter'), rule(raw="add @seen { ip saddr }"), declarations=NAT
    )
    await converge_once(counting)
    before = read_table("reactor").form
    nft("add", "element", "inet", "reactor", "seen", "{ 192.0.2.1 }")
    assert read_table("reactor").form == before
    assert await counting.verify() == ()


def test_a_read_that_a_change_interrupts_leaves_nothing_for_the_next_one():
    trio.run(
        converge_once, firewall(*(rule(accept=f"tcp/{port}", comment="x" * 100) for port in range(1, 400)))
    )
    form, seen = read_table("reactor").form, 0
    twice = "nft add table inet another; nft delete table inet another; " * 2
    change = f"for i in $(seq 15); do {twice} sleep 0.05; done"  # there is time for a read in between
    with subprocess.Popen(["sh", "-c", change]) as changing:
        while changing.poll() is None:
            with suppress(ResourceError):  # they change all the time
                assert read_table("reactor").form == form
                seen += 1
    assert seen
    assert read_table("reactor").form == form


async def test_a_refused_rule_is_told_before_and_changes_nothing():
    await converge_once(firewall(SSH))
    before = world()
    wrong = firewall(SSH, rule(raw="tcp dport nonsense accept"))
    words = "nft refuses rule 2, `tcp dport nonsense accept`:"
    for options in (RunOptions(noop=True), RunOptions()):
        ended, story = await converge_once(wrong, options=options)
        assert ended.counts[Result.FAILED] == 1
        assert words in story.checks("firewall#host")[-1].error
        assert world() == before


async def test_without_nft_a_run_says_what_to_install(monkeypatch):
    monkeypatch.setattr("reactor.resources.firewall.nft.ENVIRONMENT", {"PATH": "/nowhere"})
    with pytest.raises(ResourceError, match="nft is not installed") as caught:
        await firewall().preflight(await firewall().observe())
    assert "nftables" in caught.value.hint


async def test_a_firewall_is_undone():
    await assert_undone(firewall(SSH, persist=False), world)


async def test_without_systemd_the_rules_are_written_and_nothing_enables_them():
    os.rmdir("/etc/systemd/system")
    await converge_once(firewall(SSH))
    assert RULES_FILE.read_text().endswith("}\n")
    assert not Path("/etc/systemd/system").exists()
    assert await firewall(SSH).verify() == ()


async def test_the_file_for_the_next_boot_sets_the_same_table():
    await converge_once(firewall(SSH, WEB))
    form = read_table("reactor").form
    nft("flush", "ruleset")
    nft("-f", "-", text=OTHERS)
    nft("-f", str(RULES_FILE))
    assert read_table("reactor").form == form
    assert await firewall(SSH, WEB).verify() == ()


async def test_a_lost_record_costs_one_change(own_state):
    await converge_once(firewall(SSH))
    before = tables()
    for file in (own_state / "records").iterdir():
        file.unlink()
    ended, _ = await converge_once(firewall(SSH))
    assert ended.changes == 1
    assert tables() == before
    ended, _ = await converge_once(firewall(SSH))
    assert ended.changes == 0


async def test_a_burst_of_other_changes_neither_disturbs_nor_is_disturbed():
    async with running(firewall(SSH)) as story:
        await story.converged()
        desired = ours()
        for number in range(20):
            nft("add", "rule", "inet", "others", "input", "tcp", "dport", str(1000 + number), "accept")
        nft("delete", "table", "inet", "reactor")
        await story.until(lambda: ours() == desired)
        assert len(story.checks("firewall#host")) < 10
    assert "tcp dport 1019 accept" in tables()


@contextmanager
def another_host():
    """A process in a network namespace of its own, at the other end of a cable: 10.9.0.2, and we are 10.9.0.1."""
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE
    ) as other:
        try:
            other.stdout.readline()
            inside = ["nsenter", "-t", str(other.pid), "-n"]
            for words in (
                f"ip link add fw0 type veth peer name fw1 netns {other.pid}",
                "ip address add 10.9.0.1/24 dev fw0", "ip link set fw0 up",
            ):  # fmt: skip
                subprocess.run(words.split(), check=True)
            for words in ("ip address add 10.9.0.2/24 dev fw1", "ip link set fw1 up"):
                subprocess.run([*inside, *words.split()], check=True)
            yield inside
        finally:
            other.kill()


CONNECT = "import socket, sys; socket.create_connection(('10.9.0.1', int(sys.argv[1])), float(sys.argv[2]))"


async def test_packets_go_where_the_rules_say():
    with another_host() as inside, socket.create_server(("", 0)) as one, socket.create_server(("", 0)) as two:
        ports = [str(each.getsockname()[1]) for each in (one, two)]

        def are_reached(*expected):
            for port, is_expected in zip(ports, expected, strict=True):
                seconds = "60" if is_expected else "0.3"  # the link may take a moment until it sends packets
                command = [*inside, "python3", "-c", CONNECT, port, seconds]
                if (
                    subprocess.run(command, capture_output=True, check=False).returncode == 0
                ) is not is_expected:
                    return False
            return True

        assert are_reached(True, True)
        await converge_once(firewall(rule(accept=f"tcp/{ports[0]}", from_="10.9.0.0/24")))
        assert are_reached(True, False)
        await converge_once(
            firewall(rule(accept=f"tcp/{ports[1]}", from_="10.9.0.2"), rule(drop="any", in_="fw*"))
        )
        assert are_reached(False, True)
