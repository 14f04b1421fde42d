"""The facts compared with what the tools of this machine say about it."""

import json
import os
import subprocess
import sys

import pytest

from reactor.facts import network, partition
from reactor.facts.facts import Facts
from reactor.facts.gathering import numbers, read

KIBI = 1024
PATIENCE = 60.0
"""Seconds for a program that answers at once on an idle machine."""


def no_files(_text, _file):
    raise AssertionError("there is none to be read")


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def alone(namespace, script, code):
    """Return the JSON values, one a line, that ``script`` and then Python write as root in a new namespace.

    ``namespace`` is the option of unshare(1) for it. No other process changes anything there.
    """
    shell = ("unshare", "--user", "--map-root-user", namespace, "sh", "-ec", f'{script}\nexec "$@"', "sh")
    path = f"PYTHONPATH={os.pathsep.join(filter(None, sys.path))}"
    return [json.loads(line) for line in said(*shell, "env", path, sys.executable, "-c", code).splitlines()]


@pytest.fixture(scope="module")
def facts():
    found = Facts(parse=no_files, where=(), timeout=PATIENCE)
    assert set(found) == {"host", "cpu", "memory", "partition", "network"}
    list(found.values())
    unmounted = "partition.usage of "  # by others, since it was listed
    assert [note for note in found.notes if not note.startswith(unmounted)] == []
    return found


def test_the_host_is_who_uname_says(facts):
    info = facts["host"]["info"]
    assert info["os"] == "linux"
    assert info["hostname"] == said("uname", "-n")
    assert info["kernelVersion"] == said("uname", "-r")
    assert info["kernelArch"] == said("uname", "-m")


def test_the_distribution_is_the_one_of_os_release(facts):
    info = facts["host"]["info"]
    assert info["platform"] == said("sh", "-c", ". /etc/os-release; echo $ID")
    assert info["platformVersion"].startswith(said("sh", "-c", ". /etc/os-release; echo $VERSION_ID"))
    assert info["platformCodename"] == said("sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME")
    assert info["platformFamily"] == "debian", "the tests run on Debian and what is alike"


def test_up_time_and_boot_time_are_those_of_the_kernel(facts):
    info = facts["host"]["info"]
    assert 0 <= float(read("/proc/uptime").split()[0]) - info["uptime"] < 60
    assert info["bootTime"] == numbers("/proc/stat")["btime"]
    assert info["procs"] > 1


def test_there_is_one_processor_for_each_that_is_online(facts):
    processors = facts["cpu"]["info"]
    assert len(processors) == os.cpu_count()
    assert [each["cpu"] for each in processors] == list(range(len(processors)))
    assert all(each["cores"] == 1 and each["flags"] for each in processors)


def test_memory_is_what_free_shows(tmp_path):
    """Compare in a namespace where nothing changes meanwhile."""
    (tmp_path / "meminfo").write_text(read("/proc/meminfo"))
    free_says = f"mount --bind {tmp_path}/meminfo /proc/meminfo\nfree -b | sed -n '2s/.*/\"&\"/p'"
    code = "import json; from reactor.facts.memory import virtual; print(json.dumps(virtual()))"
    table, found = alone("--mount", free_says, code)
    total, used, free, shared, cached, available = map(int, table.split()[1:])
    assert (found["used"], found["free"], found["available"]) == (used, free, available)
    assert found["buffers"] + found["cached"] == cached
    assert (found["total"], found["shared"]) == (total, shared)
    assert found["usedPercent"] == pytest.approx(100 * used / total)


def test_every_memory_fact_is_there_and_a_number(facts):
    names = """total available used usedPercent free active inactive wired laundry buffers cached writeBack dirty
        writeBackTmp shared slab sreclaimable sunreclaim pageTables swapCached commitLimit committedAS highTotal
        highFree lowTotal lowFree swapTotal swapFree mapped vmallocTotal vmallocUsed vmallocChunk hugePagesTotal
        hugePagesFree hugePagesRsvd hugePagesSurp hugePageSize anonHugePages"""
    found = facts["memory"]["virtual"]
    assert set(found) == set(names.split())
    assert {type(value) for name, value in found.items() if name != "usedPercent"} == {int}
    assert found["commitLimit"] == numbers("/proc/meminfo", ":")["CommitLimit"] * KIBI


def test_swap_devices_are_those_of_proc(facts):
    lines = read("/proc/swaps").splitlines()[1:]
    devices = facts["memory"]["swap"]["devices"]
    assert (devices or []) == [] if not lines else len(devices) == len(lines)
    assert facts["memory"]["swap"]["info"]["total"] == numbers("/proc/meminfo", ":")["SwapTotal"] * KIBI


LISTED = "findmnt --list --json --output TARGET,FSTYPE | tr -d '\\n'; echo"


def test_partitions_are_mounts_that_findmnt_knows():
    code = "from reactor.facts.partition import partitions; import json; print(json.dumps(partitions()))"
    listed, found = alone("--mount", LISTED, code)
    known = {(each["target"], each["fstype"]) for each in listed["filesystems"]}
    assert {(each["mountpoint"], each["fstype"]) for each in found} <= known
    assert not {each["fstype"] for each in found} & {"proc", "sysfs", "tmpfs", "cgroup2", "devpts"}


def test_usage_is_what_df_shows(tmp_path):
    found = partition.usage(str(tmp_path), "any")
    df = said("df", "--block-size=1", "--output=size,itotal", str(tmp_path)).splitlines()[1].split()
    assert (found["total"], found["inodesTotal"]) == tuple(0 if word == "-" else int(word) for word in df)
    assert found["used"] + found["free"] <= found["total"]
    assert 0 <= found["usedPercent"] <= 100


def network_of_its_own(script=""):
    """Return what ``script`` writes in a new network namespace, and then the facts there."""
    code = "from reactor.facts.network import network; import json; print(json.dumps(network()))"
    return alone("--net", script, code)


FAR = {"4": "1.1.1.1", "6": "2001:4860:4860::8888"}
NETWORK = f"""
ip link set lo up
ip link add v0 type veth peer name v1
ip link set v0 addrgenmode none mtu 1400 multicast off up
ip link set v1 addrgenmode none address 02:00:00:00:00:07 up
ip link add v2 type veth peer name v3
ip address add 192.0.2.5/24 dev v0
ip address add 2001:db8::5/64 dev v0 nodad
ip address add 198.51.100.5/24 dev v1
ip address add 169.254.7.7/16 scope link dev v1
ip route add default via 192.0.2.1
ip -6 route add default via 2001:db8::1
ip -json address
ip -4 -json route get {FAR["4"]}
ip -6 -json route get {FAR["6"]}
"""


@pytest.fixture(scope="module")
def networked():
    """What ip reports about the links and the routes to `FAR` in both versions of IP, and the facts."""
    listed, by_4, by_6, found = network_of_its_own(NETWORK)
    return listed, {"4": by_4, "6": by_6}, found


def test_interfaces_and_addresses_are_those_of_ip(networked):
    listed, _, facts = networked
    assert len(listed) >= 5
    for wanted in listed:
        found = next(each for each in facts["interfaces"] if each["index"] == wanted["ifindex"])
        assert found["name"] == wanted["ifname"]
        assert found["mtu"] == wanted["mtu"]
        addresses = [f"{each['local']}/{each['prefixlen']}" for each in wanted["addr_info"]]
        assert [each["addr"] for each in found["addrs"]] == addresses
        for flag in ("UP", "BROADCAST", "LOOPBACK", "MULTICAST"):
            assert (flag in wanted["flags"]) == (flag.lower() in found["flags"])
        no_address = wanted.get("address") in (None, "00:00:00:00:00:00")
        assert found["hardwareAddr"] == ("" if no_address else wanted["address"])
    assert facts["interfaces"][0]["name"] == "lo"


def test_addresses_others_can_reach_are_those_of_global_scope(networked):
    listed, _, facts = networked
    wanted = {each["local"] for link in listed for each in link["addr_info"] if each["scope"] == "global"}
    assert (
        {each["address"] for each in facts["addresses"]}
        == wanted
        == {"192.0.2.5", "198.51.100.5", "2001:db8::5"}
    )


@pytest.mark.parametrize("version", FAR)
def test_the_default_address_is_the_source_of_the_default_route(networked, version):
    _, routes, facts = networked
    wanted = routes[version][0]["prefsrc"]
    assert facts[f"default_ipv{version}"] == wanted
    ways = [each for each in facts["addresses"] if each["ipv4"] == (version == "4")]
    assert [each["address"] for each in ways if each["default"]] == [wanted]


def test_the_network_of_this_host_has_the_links_that_stay(facts):
    assert facts["network"]["interfaces"][0]["name"] == "lo"
    assert "loopback" in facts["network"]["interfaces"][0]["flags"]


def test_without_any_network_there_is_only_loopback():
    (found,) = network_of_its_own()
    assert found["interfaces"][0]["name"] == "lo"
    assert found["addresses"] == []
    assert (found["default_ipv4"], found["default_ipv6"]) == ("", "")


def test_of_a_point_to_point_address_ours_is_our_own_end():
    (found,) = network_of_its_own("ip address add 10.9.0.1 peer 10.9.0.2/32 dev lo\nip link set lo up")
    assert [each["address"] for each in found["addresses"]] == ["10.9.0.1"]


def test_the_network_part_is_never_shared_between_two_answers():
    answer = {"network": {"default_ipv4": "192.0.2.1"}}
    first = network.gather(lambda _jobs: answer)
    first["default_ipv4"] = "spoilt"
    assert network.gather(lambda _jobs: answer)["default_ipv4"] == "192.0.2.1"
