"""The kernel's files of machines that are not this one."""

import pytest

from reactor import mountinfo
from reactor.facts import memory, partition
from reactor.facts.cpu import processors

X86 = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 142
model name\t: Intel(R) Core(TM) i7
stepping\t: 10
microcode\t: 0xf0
cpu MHz\t\t: 1800.000
cache size\t: 8192 KB
physical id\t: 0
core id\t\t: 3
flags\t\t: fpu vme

processor\t: 1
vendor_id\t: GenuineIntel
"""
ARM = """processor\t: 0
BogoMIPS\t: 108.00
Features\t: fp asimd
CPU implementer\t: 0x41
CPU part\t: 0xd08

Hardware\t: BCM2835
Serial\t\t: 10000000
"""


def test_an_intel_processor_is_described_in_full():
    first, second = processors(X86)
    assert first == {
        "cpu": 0, "vendorId": "GenuineIntel", "family": "6", "model": "142", "stepping": 10, "physicalId": "0",
        "coreId": "3", "cores": 1, "modelName": "Intel(R) Core(TM) i7", "mhz": first["mhz"], "cacheSize": 8192,
        "flags": ["fpu", "vme"], "microcode": "0xf0",
    }  # fmt: skip
    assert second["cpu"] == 1
    assert set(second) == set(first)


def test_an_arm_processor_is_described_as_far_as_it_goes():
    (only,) = processors(ARM)
    assert (only["vendorId"], only["model"], only["flags"]) == ("0x41", "0xd08", ["fp", "asimd"])
    assert (only["stepping"], only["cacheSize"]) == (0, 0)


@pytest.fixture
def kernel_says(monkeypatch):
    def pretend(module, files):
        for name in ("read", "read_if_there"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, lambda path: files.get(path, ""))

    return pretend


def test_swap_areas_are_counted_in_bytes(kernel_says):
    swaps = "Filename Type Size Used Priority\n/dev/sda2 partition 1000 250 -2\n/swap file 10 0 -3"
    kernel_says(memory, {"/proc/swaps": swaps})
    assert memory.swap_devices() == [
        {"name": "/dev/sda2", "usedBytes": 250 * 1024, "freeBytes": 750 * 1024},
        {"name": "/swap", "usedBytes": 0, "freeBytes": 10 * 1024},
    ]


def test_without_swap_there_is_no_list_of_it(kernel_says):
    kernel_says(memory, {"/proc/swaps": "Filename Type Size Used Priority"})
    assert memory.swap_devices() is None
    kernel_says(memory, {})
    assert memory.swap_devices() is None


def test_mounts_are_those_on_devices_with_their_names_unescaped(kernel_says, monkeypatch, tmp_path):
    mounts = [
        r"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
        r"28 1 254:1 / /mnt/with\040space ro shared:1 - xfs /dev/vdb rw",
        r"29 1 254:0 /srv /bound rw,noatime shared:1 master:2 - ext4 /dev/vda rw",
        r"30 1 0:9 / /proc rw - proc proc rw",
        r"31 1 0:10 / /none rw - ext4 none rw",
        r"32 1 0:11 / /tank rw - zfs tank/home rw",
        r"33 1 0:12 / /away rw - nfs4 server:/export rw",
    ]
    kernel_says(partition, {"/proc/filesystems": "nodev\tproc\n\text4\n\txfs\nnodev\tnfs4\nnodev\tzfs"})
    table = tmp_path / "mountinfo"
    table.write_text("".join(f"{mount}\n" for mount in mounts))
    monkeypatch.setattr(mountinfo, "MOUNTINFO", str(table))
    assert partition.partitions() == [
        {"device": "/dev/vda", "mountpoint": "/", "fstype": "ext4", "opts": ["rw", "relatime"]},
        {"device": "/dev/vdb", "mountpoint": "/mnt/with space", "fstype": "xfs", "opts": ["ro"]},
        {"device": "/dev/vda", "mountpoint": "/bound", "fstype": "ext4", "opts": ["rw", "noatime", "bind"]},
        {"device": "tank/home", "mountpoint": "/tank", "fstype": "zfs", "opts": ["rw"]},
    ]
