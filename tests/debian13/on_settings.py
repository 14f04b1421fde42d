"""Timezone, locale, keyboard, NTP and hostname beside timedated, localed, hostnamed and timesyncd, which really run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from cell import Cell, differs, first, fixed_manifest
from programs import must, said
from questions import breaches
from staying_runs import staying, wait_for

TIMESYNCD = """
[Unit]
ConditionVirtualization=
ConditionCapability=
[Service]
AmbientCapabilities=
CapabilityBoundingSet=
"""
"""Lets timesyncd run in namespaces, in which nobody may set the clock."""
UNITS = Path("/run/systemd/system")
FILES = (
    "/etc/localtime",
    "/etc/timezone",
    "/etc/default/locale",
    "/etc/default/keyboard",
    "/etc/hostname",
    "/etc/machine-info",
)
SERVERS = Path("/etc/systemd/timesyncd.conf.d/reactor.conf")


class Setting(NamedTuple):
    """A setting as a manifest has it, what judges it, and the commands by which others change it."""

    resources: list[Mapping[str, object]]
    wrong: Callable[[], str | None]
    drifts: list[str]


def shown(what: str, *properties: str) -> list[str]:
    """What timedated or timesyncd says. timedated remembers the zone for as long as it runs."""
    said("systemctl", "stop", "systemd-timedated")
    return must("timedatectl", what, "--value", *(f"--property={name}" for name in properties)).split("\n")[
        :-1
    ]


def status() -> dict[str, str]:
    """What localed says."""
    lines = must("localectl", "status").splitlines()
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def zone_wrong() -> str | None:
    return first(
        differs("the zone", shown("show", "Timezone"), ["Europe/Vienna"]),
        differs("the zone of a program", must("date", "--date=2026-01-01", "+%Z").strip(), "CET"),
    )


def locale_wrong() -> str | None:
    return first(
        differs("the locale", status()["System Locale"], "LANG=C.UTF-8"),
        differs(
            "that of services", "LANG=C.UTF-8" in must("systemctl", "show-environment").splitlines(), True
        ),
    )


def keyboard_wrong() -> str | None:
    found = status()
    wanted = {
        "X11 Layout": "de",
        "X11 Variant": "nodeadkeys",
        "X11 Model": "pc105",
        "X11 Options": "ctrl:nocaps",
    }
    return first(
        *(differs(name, found.get(name), value) for name, value in wanted.items()),
        differs("whether it has a keymap", "KEYMAP" in Path("/etc/default/keyboard").read_text(), False),
        differs("the other name of the file", Path("/etc/vconsole.conf").is_symlink(), True),
    )


def clock_wrong() -> str | None:
    return first(
        differs("whether the clock is set", shown("show", "NTP"), ["yes"]),
        differs("the servers", shown("show-timesync", "SystemNTPServers"), ["192.0.2.1 192.0.2.2"]),
        differs("at boot", said("systemctl", "is-enabled", "systemd-timesyncd"), "enabled"),
    )


def name_wrong() -> str | None:
    return first(
        differs("the static name", must("hostnamectl", "--static").strip(), "web1"),
        differs("the name of the kernel", must("uname", "-n").strip(), "web1"),
        differs("the pretty name", must("hostnamectl", "--pretty").strip(), "Web server 1"),
    )


SETTINGS = {
    "timezone": Setting(
        [{"timezone": [{"Europe/Vienna": {}}]}],
        zone_wrong,
        [
            "timedatectl set-timezone Asia/Tokyo", "ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime",
            "rm /etc/localtime", "cp --remove-destination /usr/share/zoneinfo/Asia/Tokyo /etc/localtime",
        ],
    ),
    "locale": Setting(
        [{"locale": [{"C.UTF-8": {"default": True}}]}],
        locale_wrong,
        ["echo LANG=C >/etc/default/locale", "rm -f /etc/default/locale"],
    ),
    "keyboard": Setting(
        [{"keyboard": [{"de": {"variant": "nodeadkeys", "options": ["ctrl:nocaps"], "model": "pc105"}}]}],
        keyboard_wrong,
        [
            "sed -i s/de/fr/ /etc/default/keyboard", "rm /etc/default/keyboard",
            "echo XKBLAYOUT=us >/etc/other; ln -sf /etc/other /etc/default/keyboard",
        ],
    ),
    "ntp": Setting(
        [
            {"ntp": [{"company": {"servers": ["192.0.2.1", "192.0.2.2"], "provider": "timesyncd"}}]},
            {"service": [{"systemd-timesyncd": {"enable": True, "subscribe": "ntp#company"}}]},
        ],
        clock_wrong,
        [
            "timedatectl set-ntp false", "systemctl stop systemd-timesyncd", "systemctl disable systemd-timesyncd",
            f"rm {SERVERS}", f"echo NTP=x >>{SERVERS}; systemctl restart systemd-timesyncd",
        ],
    ),
    "hostname": Setting(
        [{"hostname": [{"web1": {"pretty": "Web server 1"}}]}],
        name_wrong,
        [
            "hostnamectl set-hostname drifted", "hostname drifted", "echo drifted >/etc/hostname",
            "hostnamectl set-hostname --pretty Drifted", "rm /etc/hostname /etc/machine-info",
        ],
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _daemons():
    (UNITS / "systemd-timesyncd.service").unlink()
    drop_in = UNITS / "systemd-timesyncd.service.d" / "namespaces.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(TIMESYNCD)
    must("systemctl", "daemon-reload")


def look(_place):
    """All that a dry run must leave alone."""
    files = [
        (path, said("stat", "-c", "%i %Y %N", path), said("sha256sum", path)) for path in (*FILES, SERVERS)
    ]
    return files, said("uname", "-n"), shown("show", "NTP"), said("systemctl", "show-environment")


def make(command, _place):
    must("sh", "-c", command)
    said("systemctl", "reset-failed")


def cells():
    for kind, setting in SETTINGS.items():
        resources = partial(fixed_manifest, setting.resources)
        yield Cell(kind, "as it is", resources, lambda _, setting=setting: setting.wrong(), look=look)
        for command in setting.drifts:
            yield Cell(
                kind,
                command,
                resources,
                lambda _, setting=setting: setting.wrong(),
                drift=partial(make, command),
                look=look,
            )


CELLS = {str(cell): cell for cell in cells()}


@pytest.mark.parametrize("name", CELLS)
def test_the_world_is_right_twice_and_was_foretold(name, tmp_path):
    assert breaches(CELLS[name], tmp_path / "scratch") == []


def test_a_run_that_stays_repairs_every_drift(tmp_path, record_property):
    with staying(tmp_path, [each for setting in SETTINGS.values() for each in setting.resources]):
        for setting in SETTINGS.values():
            wait_for(setting.wrong)
            for command in setting.drifts:
                make(command, None)
                record_property(command, wait_for(setting.wrong))
