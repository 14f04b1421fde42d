"""Files that chattr(1) has made immutable: a dry run of every kind that edits one fails as the run does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fixed_paths import immutable

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.cron import Cron
from reactor.resources.hostname import Hostname
from reactor.resources.hosts.kind import Host
from reactor.resources.mount import Mount
from reactor.resources.parts import Block, Line, Setting
from reactor.resources.ssh.known_host import KnownHost
from reactor.resources.sysctl import Sysctl
from reactor.testing.story import converge_once

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG0lz3NMSaHdJz5Nj6tfW9uNEJnsBej9x8HXNHd2SKtz"
_PART = "/etc/immutable.conf"

EDITS = {
    "line": (_PART, lambda: Line(name="it", path=_PART, line="x")),
    "block": (_PART, lambda: Block(name="it", path=_PART, content="x")),
    "setting": (_PART, lambda: Setting(name="it", path=_PART, key="a", value="2", format="keyvalue")),
    "known_host": (_PART, lambda: KnownHost(name="git.example.com", key=_KEY, path=_PART)),
    "host": ("/etc/hosts", lambda: Host(name="web", ip="192.0.2.7")),
    "hostname": ("/etc/hostname", lambda: Hostname(name="immutable.example.org")),
    "cron": ("/etc/cron.d/it", lambda: Cron(name="it", command="true", schedule="0 3 * * *")),
    "mount": (
        "/etc/fstab",
        lambda: Mount(name="/mnt/it", ensure="present", device="/dev/vda9", fstype="ext4"),
    ),
    "sysctl": (
        "/etc/sysctl.d/zz-reactor-net.ipv4.ip_forward.conf",
        lambda: Sysctl(name="net.ipv4.ip_forward", value="0"),
    ),
}


@pytest.mark.parametrize("kind", EDITS)
async def test_a_dry_run_sees_that_the_file_is_immutable(kind):
    name, make = EDITS[kind]
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text("a=1\n")
    found = []
    try:
        with immutable(file):
            for noop in (True, False):
                resource = make()
                _, story = await converge_once(resource, options=RunOptions(noop=noop))
                found.append((story.checks(resource.ref)[0].result, story.checks(resource.ref)[0].error))
    except subprocess.CalledProcessError:
        pytest.skip("may not set flags here")
    would, did = found
    assert did[0] is Result.FAILED
    assert would == did
