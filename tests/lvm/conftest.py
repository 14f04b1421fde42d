"""Real disks for LVM: loop devices, and a group that no other test has."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from lvm_runs import lvm

MIB = 1 << 20


class Disks:
    """Loop devices of a test. ``group`` is the name of its volume group."""

    def __init__(self, directory):
        self.directory = directory
        self.group = f"t{os.getpid()}-{os.urandom(4).hex()}"
        self.devices = []

    def add(self, mib=32):
        """One more disk: its device."""
        path = self.directory / f"disk{len(self.devices)}"
        path.touch(0o600)
        os.truncate(path, mib * MIB)
        command = ["losetup", "--find", "--show", path]
        self.devices.append(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        )
        return self.devices[-1]

    def grow(self, device, mib):
        """Make a disk larger."""
        os.truncate(self.directory / f"disk{self.devices.index(device)}", mib * MIB)
        subprocess.run(["losetup", "--set-capacity", device], check=True)

    def rows(self, program, *fields):
        """The rows of a report about the group."""
        report = lvm(
            program,
            "--reportformat",
            "json",
            "--units",
            "m",
            "--nosuffix",
            "-o",
            f"vg_name,{','.join(fields)}",
        )
        (rows,) = json.loads(report)["report"][0].values()
        return sorted(tuple(row[field] for field in fields) for row in rows if row["vg_name"] == self.group)

    @property
    def volumes(self):
        """The volumes of the group and their MiB."""
        return {name: float(size) for name, size in self.rows("lvs", "lv_name", "lv_size")}

    @property
    def members(self):
        """The devices of the group."""
        return [device for (device,) in self.rows("pvs", "pv_name")]

    def world(self):
        """All that LVM and blkid know of the disks."""
        signatures = [
            subprocess.run(["blkid", "-p", "-o", "export", each], check=False, capture_output=True).stdout
            for each in self.devices
        ]
        return self.members, self.volumes, self.rows("pvs", "pv_size"), signatures

    def close(self):
        """Give all of it back."""
        lvm("vgremove", "--force", "--force", "--yes", self.group, check=False)
        for device in self.devices:
            subprocess.run(["losetup", "--detach", device], check=True)


@pytest.fixture
def disks(tmp_path):
    """The disks of a test."""
    found = Disks(tmp_path)
    yield found
    found.close()
