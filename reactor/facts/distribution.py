"""Which distribution this is: /etc/os-release, in the words of CCM (which are those of gopsutil)."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from reactor.facts.kernel import read_if_there

_PLATFORMS = {
    "amzn": "amazon", "cumulus-linux": "cumuluslinux", "deepin": "Deepin", "kylin": "Kylin", "ol": "oracle",
    "rhel": "redhat", "xenenterprise": "xenserver",
}  # fmt: skip
"""Platforms that are called otherwise than the ID in os-release."""

_FAMILIES = {
    "debian": "debian ubuntu linuxmint raspbian Kylin cumuluslinux uos Deepin",
    "rhel": "redhat centos rocky almalinux oracle scientific cloudlinux amazon xenserver ibm_powerkvm"
    " enterpriseenterprise",
    "suse": "suse opensuse opensuse-leap opensuse-tumbleweed opensuse-tumbleweed-kubic sles sled caasp",
}
_OWN_FAMILY = "fedora gentoo slackware arch exherbo alpine coreos solus neokylin anolis"
_FAMILY_OF = {name: name for name in _OWN_FAMILY.split()} | {
    platform: family for family, platforms in _FAMILIES.items() for platform in platforms.split()
}

_VERSION_FILES = {"debian": "debian_version", "raspbian": "debian_version", "alpine": "alpine-release"}
"""Where the whole version stands: VERSION_ID of Debian 12.11 is 12."""

_RELEASE = re.compile(r"release (\d[\d.]*)")


class Distribution(NamedTuple):
    """``platform`` is the distribution, ``family`` those managed alike, ``version`` such as 12.11."""

    platform: str
    family: str
    version: str


def distribution(etc: str = "/etc") -> Distribution:
    """The distribution whose files are in ``etc``. What does not say is empty."""
    release = _os_release(read_if_there(f"{etc}/os-release") or read_if_there(f"{etc}/../usr/lib/os-release"))
    platform = _platform(release.get("ID", ""))
    family = _family(platform, release.get("ID_LIKE", "").split())
    return Distribution(platform, family, _version(etc, platform, family) or release.get("VERSION_ID", ""))


def _os_release(text: str) -> dict[str, str]:
    """The assignments of an os-release file: shell words, see os-release(5)."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        try:
            found[name.strip()] = "".join(shlex.split(value))
        except ValueError:
            continue
    return found


def _platform(identity: str) -> str:
    return _PLATFORMS.get(identity, identity)


def _family(platform: str, alike: list[str]) -> str:
    """The family of the platform; of an unknown one that of what it says it is like; else its own name."""
    known = (_FAMILY_OF.get(name) for name in (platform, *map(_platform, alike)))
    return next(filter(None, known), platform)


def _version(etc: str, platform: str, family: str) -> str:
    if platform in _VERSION_FILES:
        return read_if_there(f"{etc}/{_VERSION_FILES[platform]}").partition("\n")[0]
    if family in ("rhel", "fedora"):
        match = _RELEASE.search(
            read_if_there(f"{etc}/redhat-release") or read_if_there(f"{etc}/system-release")
        )
        return match[1] if match else ""
    return ""
