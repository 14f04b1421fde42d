"""reactor as a service of a real systemd, from its installation to its removal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from unit_worlds import ETC, eventually, systemctl

_numbers = count()
FILE = 'ensure: present, owner: root, group: root, mode: "0644"'


def reactor(*args):
    """One command, as a process."""
    command = [sys.executable, "-m", "reactor", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


class Installation:
    """A manifest of its own and the unit that runs it."""

    def __init__(self) -> None:
        self.name = f"reactor-{next(_numbers)}"
        self.unit = ETC / f"{self.name}.service"
        self.directory = Path(f"/etc/{self.name}")
        self.directory.mkdir()
        self.manifest = self.directory / "site.yaml"
        self.target = self.directory / "target"
        self.state = Path(f"/var/lib/{self.name}")

    def describe(self, content="desired", more=""):
        """Write the manifest as editors do: another file in its place."""
        new = self.directory / ".site.yaml.new"
        new.write_text(
            f"resources:\n  - file:\n      - {self.target}: {{ {FILE}, content: {content} }}\n{more}"
        )
        os.replace(new, self.manifest)

    def install(self, *args):
        return reactor("service", "install", "--name", self.name, self.manifest, *args)

    def uninstall(self):
        return reactor("service", "uninstall", "--name", self.name)

    def show(self, name):
        return systemctl("show", "--value", f"--property={name}", self.name)

    @property
    def pid(self):
        return int(self.show("MainPID"))

    def converged(self):
        return self.show("StatusText").startswith("converged")

    def drop_in(self, *lines):
        directory = ETC / f"{self.unit.name}.d"
        directory.mkdir()
        (directory / "test.conf").write_text("\n".join(["[Service]", *lines, ""]))

    def entries(self):
        """What it has said to the journal of systemd."""
        systemctl("--no-block", "kill", "--signal=RTMIN+1", "systemd-journald")
        command = ["journalctl", "--output=json", f"--unit={self.name}", "--identifier=reactor", "--all"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [json.loads(line) for line in said.splitlines()]


@contextmanager
def installed(*args, more=""):
    """An installation that runs, until the block ends."""
    one = Installation()
    one.describe(more=more)
    done = one.install(*args)
    assert done.returncode == 0, done.stderr
    try:
        yield one
    finally:
        assert one.uninstall().returncode == 0


async def test_what_is_installed_is_active_enabled_and_repairs():
    with installed() as service:
        assert systemctl("is-active", service.name) == "active"
        assert systemctl("is-enabled", service.name) == "enabled"
        await eventually(service.converged)
        assert service.target.read_text() == "desired"
        service.target.write_text("drifted")
        await eventually(lambda: service.target.read_text() == "desired")
        assert service.state.stat().st_mode & 0o777 == 0o700
        assert reactor("status", "--state-dir", service.state).returncode == 0


async def test_installing_twice_does_nothing_the_second_time():
    with installed() as service:
        pid, text = service.pid, service.unit.read_text()
        again = service.install()
        assert (again.returncode, again.stdout) == (0, f"{service.name} is installed like that already\n")
        assert (service.pid, service.unit.read_text()) == (pid, text)
        other = service.install("--", "--jobs", "3")
        assert other.stdout.splitlines() == [f"wrote {service.unit}", f"restarted {service.name}"]
        assert service.pid != pid


async def test_uninstalling_ends_it_and_leaves_what_it_did():
    with installed() as service:
        await eventually(service.converged)
        done = service.uninstall()
        assert done.stdout == f"stopped {service.name} and removed {service.unit}\n"
        assert systemctl("is-active", service.name) == "inactive"
        assert systemctl("is-enabled", service.name) != "enabled"
        assert not service.unit.exists()
        assert service.target.read_text() == "desired"
        assert service.state.exists()
        again = service.uninstall()
        assert (again.returncode, again.stdout) == (0, f"{service.name} is not installed\n")


async def test_without_start_it_waits_for_the_next_boot():
    with installed("--no-start") as service:
        assert systemctl("is-enabled", service.name) == "enabled"
        assert systemctl("is-active", service.name) == "inactive"
        assert not service.target.exists()


async def test_a_unit_of_somebody_else_is_left_alone():
    service = Installation()
    service.describe()
    service.unit.write_text("[Service]\nExecStart=/bin/true\n")
    for done in (service.install(), service.uninstall()):
        assert done.returncode == 2
        assert "not written by reactor" in done.stderr
    assert service.unit.read_text() == "[Service]\nExecStart=/bin/true\n"


async def test_an_invalid_manifest_is_not_installed():
    service = Installation()
    service.describe(more="  - fiel: []\n")
    done = service.install()
    assert done.returncode == 2
    assert "did you mean 'file'?" in done.stderr
    assert not service.unit.exists()


async def test_a_manifest_that_can_not_be_kept_fails_to_start_and_is_told():
    service = Installation()
    service.describe()
    held = reactor_holding(service.state)
    done = service.install()
    held.terminate()
    held.wait()
    service.uninstall()
    assert done.returncode == 2
    assert f"journalctl -u {service.name}" in done.stderr


def reactor_holding(state):
    """A run that has the lock of a state directory."""
    elsewhere = Installation()
    elsewhere.describe()
    command = [sys.executable, "-m", "reactor", "run", "--state-dir", state, elsewhere.manifest]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


async def test_an_edit_is_a_reload_to_systemd_and_so_is_an_invalid_one():
    with installed() as service:
        await eventually(service.converged)
        service.describe("edited")
        await eventually(lambda: service.target.read_text() == "edited")
        await eventually(service.converged)
        service.describe(more="  - fiel: []\n")
        await eventually(lambda: "the manifest has changed and can't be used" in service.show("StatusText"))
        assert systemctl("is-active", service.name) == "active"
        service.describe("mended")
        await eventually(lambda: service.target.read_text() == "mended")
        await eventually(service.converged)
        assert systemctl("reload", service.name) == ""
        assert systemctl("is-active", service.name) == "active"


async def test_what_can_not_be_repaired_is_in_the_status():
    name = "/proc/never/there"
    with installed(more=f"      - {name}: {{ {FILE}, content: x }}\n") as service:
        await eventually(lambda: f"1 failed (file#{name}), of 2 resources" in service.show("StatusText"))
        assert systemctl("is-active", service.name) == "active"


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
async def test_a_life_that_hangs_or_ends_is_followed_by_another(number):
    service = Installation()
    service.drop_in("WatchdogSec=500ms", "TimeoutAbortSec=500ms", "RestartSec=0")
    service.describe()
    assert service.install().returncode == 0
    await eventually(service.converged)
    os.kill(pid := service.pid, number)
    await eventually(lambda: service.show("NRestarts") == "1" and service.pid not in (0, pid))
    service.target.write_text("drifted")
    await eventually(lambda: service.target.read_text() == "desired")
    service.uninstall()


async def test_signs_of_life_keep_it_alive():
    service = Installation()
    service.drop_in("WatchdogSec=200ms", "RestartSec=0")
    service.describe()
    assert service.install().returncode == 0
    began = service.show("WatchdogTimestampMonotonic")
    await eventually(lambda: int(service.show("WatchdogTimestampMonotonic")) > int(began) + 1_000_000)
    assert service.show("NRestarts") == "0"
    service.uninstall()


async def test_what_happens_is_in_the_journal_with_fields():
    with installed() as service:
        await eventually(service.converged)
        service.target.write_text("drifted")
        await eventually(lambda: any(entry.get("REACTOR_CAUSES") == "drift" for entry in service.entries()))
        entries = service.entries()
    (drift,) = [entry for entry in entries if entry.get("REACTOR_CAUSES") == "drift"]
    assert drift["REACTOR_REF"] == f"file#{service.target}"
    assert drift["REACTOR_RESULT"] == "changed"
    assert drift["REACTOR_ACTIONS"] == "updated the content"
    assert drift["PRIORITY"] == "5"
    assert drift["MESSAGE"].startswith(f"file#{service.target}  changed  updated the content (drift, ")
    assert drift["_SYSTEMD_UNIT"] == service.unit.name
    said = [entry["MESSAGE"] for entry in entries]
    assert len(said) == len(set(said)), "no line is said twice, once with fields and once without"


async def test_an_entry_that_is_too_long_for_a_datagram_arrives_whole():
    with installed("--", "--diff") as service:
        await eventually(service.converged)
        service.target.write_text("".join(f"line {number}\n" for number in range(60_000)))
        await eventually(lambda: service.target.read_text() == "desired")
        await eventually(lambda: any("+desired" in str(entry.get("MESSAGE")) for entry in service.entries()))
        (long,) = [entry for entry in service.entries() if "+desired" in str(entry["MESSAGE"])]
    assert long["MESSAGE"].count("\n-line ") == 60_000
    assert long["REACTOR_REF"] == f"file#{service.target}"


async def test_it_gets_a_unit_that_systemd_has_nothing_against():
    with installed() as service:
        command = ["systemd-analyze", "verify", "--man=no", str(service.unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


async def test_what_is_closed_is_closed_and_what_is_needed_is_open():
    with installed() as service:
        await eventually(service.converged)
        status = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{service.pid}/status").read_text().splitlines()
        )
        capabilities = int(status["CapBnd"], 16)
        mounts = Path(f"/proc/{service.pid}/mountinfo").read_text()
    assert status["NoNewPrivs"] == "1"
    assert not capabilities >> 21 & 1, "CAP_SYS_ADMIN"
    assert capabilities >> 1 & 1, "CAP_DAC_OVERRIDE"
    read_only = {line.split()[4] for line in mounts.splitlines() if line.split()[5].startswith("ro")}
    assert {"/usr", "/root"} <= read_only
    assert "/etc" not in read_only


async def test_a_manifest_that_mounts_gets_its_mounts_seen_by_all():
    service = Installation()
    (point := service.directory / "point").mkdir()
    service.describe(
        more=f"  - mount:\n      - {point}: {{ ensure: mounted, device: tmpfs, fstype: tmpfs }}\n"
    )
    assert service.install().returncode == 0
    await eventually(service.converged)
    assert str(point) in Path("/proc/self/mountinfo").read_text()
    service.uninstall()


async def test_services_and_commands_work_in_it():
    other = ETC / "other-of-reactor.service"
    other.write_text("[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n")
    more = "  - service:\n      - other-of-reactor: { ensure: running, enable: true }\n"
    with installed(more=more) as service:
        await eventually(service.converged)
        assert systemctl("is-active", "other-of-reactor") == "active"
        assert systemctl("is-enabled", "other-of-reactor") == "enabled"
        systemctl("stop", "other-of-reactor")
        await eventually(lambda: systemctl("is-active", "other-of-reactor") == "active")
    systemctl("disable", "--now", "other-of-reactor")


async def test_metrics_are_where_the_options_say(tmp_path):
    with installed("--", "--metrics", "127.0.0.1:9469") as service:
        await eventually(service.converged)
        asked = (
            "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9469/metrics').read().decode())"
        )
        page = subprocess.run(
            [sys.executable, "-c", asked], capture_output=True, text=True, check=True
        ).stdout
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert families["reactor_converged"].samples[0].value == 1
