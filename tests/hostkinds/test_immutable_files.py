"""Files that chattr(1) has made immutable: a dry run of every kind that edits one fails as the run does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fixed_paths import immutable
from one_shot import checked

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.accounts import Group, User
from reactor.resources.cron import Cron
from reactor.resources.hostname import Hostname
from reactor.resources.hosts.kind import Host
from reactor.resources.mount import Mount
from reactor.resources.parts import Block, Line, Setting
from reactor.resources.ssh.known_host import KnownHost
from reactor.resources.sysctl import Sysctl
from reactor.resources.tidy import Tidy
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
    "tidy": ("/etc/lo-immutable/x", lambda: Tidy(name="/etc/lo-immutable", matches=("x",))),
}

ACCOUNTS = {
    "user": ("/etc/passwd", lambda: User(name="lo-immutable")),
    "user who changes": ("/etc/shadow", lambda: User(name="nobody", comment="immutable")),
    "member": ("/etc/group", lambda: User(name="nobody", groups=("staff",))),
    "group": ("/etc/group", lambda: Group(name="lo-immutable")),
    "group that goes": ("/etc/gshadow", lambda: Group(name="staff", ensure="absent")),
}
"""What programs change, which have words of their own for it."""


@pytest.mark.parametrize("kind", [*EDITS, *ACCOUNTS])
async def test_a_dry_run_sees_that_the_file_is_immutable(kind):
    name, make = {**EDITS, **ACCOUNTS}[kind]
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text("a=1\n")
    found = []
    try:
        with immutable(file):
            for noop in (True, False):
                resource = make()
                check = await checked(resource, noop=noop)
                found.append((check.result, check.error, check.hint))
    except subprocess.CalledProcessError:
        pytest.skip("may not set flags here")
    would, did = found
    assert would[0] is did[0] is Result.FAILED
    assert "chattr -ia" in would[2]
    assert would[2] == did[2]
    assert kind in ACCOUNTS or would == did


async def test_what_a_program_does_not_open_may_be_immutable():
    try:
        with immutable("/etc/group"):
            for noop, result in ((True, Result.WOULD_CHANGE), (False, Result.CHANGED)):
                user = User(name="nobody", comment="other")
                _, story = await converge_once(user, options=RunOptions(noop=noop))
                assert story.checks(user.ref)[0].result is result
    except subprocess.CalledProcessError:
        pytest.skip("may not set flags here")
