"""reactor as a service of a real systemd, from its installation to its removal."""

from __future__ import annotations

import grp
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families
from unit_worlds import ETC, eventually, systemctl

from reactor.cli.group import reactor as command
from reactor.service.installation import PACKAGED
from reactor.service.installation import install as put_in_place

TREE = Path(__file__).parents[2]
_numbers = count()
ADDRESS = "127.0.0.1:9469"
OTHER = ETC / "other-of-reactor.service"
FILE = 'ensure: present, owner: root, group: root, mode: "0644"'


@pytest.fixture(scope="module", autouse=True)
def of_this_tree():
    """What systemd starts is the program whose tests these are, whichever is installed."""
    systemctl("set-environment", f"PYTHONPATH={TREE}")
    yield
    systemctl("unset-environment", "PYTHONPATH")


def reactor(*args):
    """One command, in this process."""
    return CliRunner().invoke(command, list(map(str, args)))


class Installation:
    """A manifest of its own and the unit that runs it."""

    def __init__(self, directory: str = "") -> None:
        self.name = f"reactor-{next(_numbers)}"
        self.unit = ETC / f"{self.name}.service"
        self.directory = Path(f"/etc/{directory or self.name}")
        self.directory.mkdir()
        self.manifest = self.directory / "site.yaml"
        self.target = self.directory / "target"
        self.state = Path(f"/var/lib/{self.name}")

    def describe(self, content="desired", more=""):
        """Write the manifest as editors do: another file in its place."""
        new = self.directory / ".site.yaml.new"
        new.write_text(
            f"resources:\n  - file:\n      - {json.dumps(str(self.target))}: {{ {FILE}, content: {content} }}\n{more}"
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

    def drifts(self):
        """The entries about repaired drift of the file."""
        found = [entry for entry in self.entries() if entry.get("REACTOR_CAUSES") == "drift"]
        return [entry for entry in found if entry["REACTOR_REF"] == f"file#{self.target}"]


OTHER_KINDS = """\
  - user:
      - reactor-user: { ensure: present, home: /home/reactor-user, manage_home: true }
  - file:
      - /srv/shared/inner: { ensure: directory, owner: root, group: root, mode: "0755" }
      - /srv/www/inner: { ensure: directory, owner: root, group: root, mode: "0755" }
  - group:
      - reactors: { ensure: present, members: [reactor-user] }
  - sysctl:
      - net.ipv4.ip_forward: { ensure: present, value: 1 }
  - hostname:
      - from-a-service: { ensure: present }
  - link:
      - left: { ensure: present, type: veth, peer: right }
"""


@contextmanager
def installed(*args, more=""):
    """An installation that runs, until the block ends."""
    one = Installation()
    one.describe(more=more)
    done = one.install(*args)
    assert done.exit_code == 0, done.stderr
    try:
        yield one
    finally:
        assert one.uninstall().exit_code == 0


@pytest.fixture(scope="module")
def service():
    """One that is there for all tests that leave it as it was."""
    OTHER.write_text("[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n")
    more = f"  - service:\n      - {OTHER.stem}: {{ ensure: running, enable: true }}\n"
    with installed("--", "--diff", "--metrics", ADDRESS, more=more) as service:
        yield service


async def test_what_is_installed_is_active_enabled_and_repairs(service):
    assert systemctl("is-active", service.name) == "active"
    assert systemctl("is-enabled", service.name) == "enabled"
    await eventually(service.converged)
    assert service.target.read_text() == "desired"
    service.target.write_text("drifted")
    await eventually(lambda: service.target.read_text() == "desired")
    assert service.state.stat().st_mode & 0o777 == 0o700
    await eventually(lambda: reactor("status", "--state-dir", service.state).exit_code == 0)


async def test_installing_twice_does_nothing_the_second_time():
    with installed() as service:
        pid, text = service.pid, service.unit.read_text()
        again = service.install()
        assert (again.exit_code, again.stdout) == (
            0,
            f"{service.name} is already installed, with this unit\n",
        )
        assert (service.pid, service.unit.read_text()) == (pid, text)
        other = service.install("--", "--jobs", "3")
        assert other.stdout.splitlines() == [f"wrote {service.unit}", f"restarted {service.name}"]
        assert service.pid != pid


async def test_an_installation_that_was_cut_short_is_finished_by_the_next():
    with installed() as one:
        text, before = one.unit.read_text() + "# of another version\n", one.pid
        steps = put_in_place(one.name, text, start=True)
        assert next(steps) == f"wrote {one.unit}"
        steps.close()
        assert one.pid == before
        assert f"restarted {one.name}" in list(put_in_place(one.name, text, start=True))
        assert list(put_in_place(one.name, text, start=True)) == []


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
        assert (again.exit_code, again.stdout) == (0, f"{service.name} is not installed\n")


async def test_without_start_it_waits_for_the_next_boot():
    with installed("--no-start") as service:
        assert systemctl("is-enabled", service.name) == "enabled"
        assert systemctl("is-active", service.name) == "inactive"
        assert not service.target.exists()


LATER = """\
  - link:
      - later0: { ensure: present, type: bridge }
  - firewall:
      - later: { rules: [{ accept: tcp/22 }] }
  - file:
      - /srv/later: { ensure: directory, owner: root, group: root, mode: "0755", setgid: true }
"""


async def test_what_the_sandbox_forbids_later_is_told_with_the_way_out():
    with installed() as service:
        await eventually(service.converged)
        service.describe(more=LATER)
        await eventually(lambda: "3 failed" in service.show("StatusText"))
        hint = "run 'reactor service install MANIFEST' again"
        helped = {entry.get("REACTOR_REF") for entry in service.entries() if hint in entry["MESSAGE"]}
        assert helped == {"link#later0", "firewall#later", "file#/srv/later"}
        assert service.install().exit_code == 0
        await eventually(service.converged)
    subprocess.run(["ip", "link", "delete", "later0"], check=True)


async def test_what_hinders_the_unit_is_told_with_what_to_do():
    service = Installation()
    service.describe()
    service.unit.symlink_to("/dev/null")
    for done in (service.install(), service.uninstall()):
        assert (done.exit_code, f"systemctl unmask {service.unit.name}" in done.stderr) == (2, True), (
            done.stderr
        )
    service.unit.unlink()
    service.unit.mkdir()
    for done in (service.install(), service.uninstall()):
        assert (done.exit_code, "not written by reactor" in done.stderr) == (2, True), done.stderr
    service.unit.rmdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", ETC], check=True)
    try:
        done = service.install()
    finally:
        subprocess.run(["umount", ETC], check=True)
    assert done.exit_code == 2
    assert f"cannot write {service.unit}: Read-only file system" in done.stderr


async def test_a_unit_of_another_user_is_left_alone():
    service = Installation()
    service.describe()
    service.unit.write_text("[Service]\nExecStart=/bin/true\n")
    for done in (service.install(), service.uninstall()):
        assert done.exit_code == 2
        assert "not written by reactor" in done.stderr
    assert service.unit.read_text() == "[Service]\nExecStart=/bin/true\n"


async def test_a_unit_of_a_package_is_not_hidden_by_one_of_its_name():
    packaged = Path("/usr/lib/systemd/system/packaged.service")
    packaged.write_text("[Service]\nExecStart=/bin/true\n")
    service = Installation()
    service.describe()
    for verb in (["install", service.manifest], ["uninstall"]):
        done = reactor("service", *verb, "--name", "packaged")
        assert done.exit_code == 2
        assert "/lib/systemd/system/packaged.service exists, and was not written by reactor" in done.stderr
    assert not (ETC / packaged.name).exists()


async def test_the_unit_of_our_own_package_gives_way_and_stays():
    service = Installation()
    service.describe()
    packaged = Path("/usr/lib/systemd/system") / service.unit.name
    packaged.write_text(
        f"{PACKAGED}\n[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
    )
    systemctl("daemon-reload")
    assert service.uninstall().stdout == f"{service.name} is not installed\n"
    systemctl("enable", "--now", service.name)
    done = service.install()
    assert done.exit_code == 0, done.output
    assert service.show("FragmentPath") == str(service.unit)
    await eventually(service.converged)
    assert service.uninstall().exit_code == 0
    assert os.path.samefile(service.show("FragmentPath"), packaged)
    assert systemctl("is-enabled", service.name) == "disabled"
    assert systemctl("is-active", service.name) == "inactive"


async def test_the_unit_of_our_own_package_is_switched_off_by_an_uninstall():
    name = "reactor-packaged"
    packaged = Path(f"/usr/lib/systemd/system/{name}.service")
    packaged.write_text(
        f"{PACKAGED}\n[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
    )
    systemctl("daemon-reload")
    systemctl("enable", "--now", name)
    done = reactor("service", "uninstall", "--name", name)
    assert (done.exit_code, done.stdout) == (0, f"stopped {name}; its unit stays with the package\n")
    assert systemctl("is-active", name) == "inactive"
    assert systemctl("is-enabled", name) == "disabled"
    assert packaged.exists()


async def test_a_name_that_ends_like_that_of_a_timer_is_still_that_of_a_service():
    service = Installation()
    service.describe()
    assert reactor("service", "install", "--name", "web.timer", service.manifest).exit_code == 0
    assert systemctl("is-active", "web.timer.service") == "active"
    assert systemctl("is-enabled", "web.timer.service") == "enabled"
    assert reactor("service", "uninstall", "--name", "web.timer").exit_code == 0
    assert systemctl("is-active", "web.timer.service") == "inactive"


async def test_an_invalid_manifest_is_not_installed():
    service = Installation()
    service.describe(more="  - fiel: []\n")
    done = service.install()
    assert done.exit_code == 2
    assert "did you mean 'file'?" in done.stderr
    assert not service.unit.exists()


async def test_one_that_does_not_start_is_reported_with_where_to_look():
    service = Installation()
    service.describe()
    service.drop_in("ExecStartPre=/bin/false", "Restart=no")
    done = service.install()
    assert done.exit_code == 2
    assert f"hint: see 'journalctl -u {service.unit.name} -n 20'" in done.stderr
    assert service.uninstall().exit_code == 0


async def test_a_run_by_hand_that_is_in_its_way_is_named_and_it_starts_after_that():
    service = Installation()
    service.describe()
    by_hand = [sys.executable, "-P", "-m", "reactor", "run", "--state-dir", service.state, service.manifest]
    environment = {"PYTHONPATH": str(TREE)}
    with subprocess.Popen(by_hand, stdout=subprocess.DEVNULL, env=environment) as other:  # noqa: ASYNC220 - it runs beside
        await eventually(service.target.exists)
        done = service.install()
        assert done.exit_code == 2
        assert (
            f"{service.name} can't start: process {other.pid} (reactor run {service.manifest}" in done.stderr
        )
        assert f"hint: stop that run: {service.name} starts 5 seconds later" in done.stderr
        other.terminate()
    await eventually(service.converged)
    assert service.uninstall().exit_code == 0


async def test_an_edit_is_a_reload_to_systemd_and_so_is_an_invalid_one():
    with installed() as service:
        await eventually(service.converged)
        service.describe("edited")
        await eventually(lambda: service.target.read_text() == "edited")
        await eventually(service.converged)
        service.describe(more="  - fiel: []\n")
        await eventually(lambda: "the new version of the manifest is invalid" in service.show("StatusText"))
        status = reactor("status", "--format", "json", "--state-dir", service.state).output
        assert "unknown kind 'fiel'" in json.loads(status)["run"]["rejected"]["problems"][0]
        await eventually(lambda: systemctl("is-active", service.name) == "active")
        service.describe("mended")
        await eventually(lambda: service.target.read_text() == "mended")
        await eventually(service.converged)
        assert systemctl("reload", service.name) == ""
        await eventually(lambda: systemctl("is-active", service.name) == "active")


async def test_what_can_not_be_repaired_is_in_the_status():
    name = "/proc/never/there"
    with installed(more=f"      - {name}: {{ {FILE}, content: x }}\n") as service:
        await eventually(lambda: f"1 failed (file#{name}), of 2 resources" in service.show("StatusText"))
        assert systemctl("is-active", service.name) == "active"


async def test_a_life_that_hangs_or_ends_is_followed_by_another():
    service = Installation()
    # Its signs of life are not to be late because of the tests that run beside this one.
    service.drop_in("WatchdogSec=3s", "RestartSec=0", "Nice=-15")
    service.describe()
    assert (done := service.install()).exit_code == 0, done.output
    began = int(service.show("WatchdogTimestampMonotonic"))
    await eventually(lambda: int(service.show("WatchdogTimestampMonotonic")) > began + 3_000_000)
    assert service.show("NRestarts") == "0", "signs of life keep it alive"
    assert service.show("TimeoutAbortUSec") == "5s", "what waits in the kernel is not left to wait"
    for number, restarts in ((signal.SIGSTOP, "1"), (signal.SIGKILL, "2")):
        os.kill(pid := service.pid, number)
        await eventually(lambda pid=pid: service.pid not in (0, pid))
        assert service.show("NRestarts") == restarts
        service.target.write_text("drifted")
        await eventually(lambda: service.target.read_text() == "desired")
    service.uninstall()


LEFT_AND_RUNNING = """\
  - exec:
      - leave: {{ command: "sleep 300 & echo $! >{0}/left", provider: shell }}
      - run: {{ command: "echo $$ >{0}/running; exec sleep 300", provider: shell, require: exec#leave }}
"""


async def test_when_it_is_killed_its_commands_end_and_what_they_have_left_goes_on():
    service = Installation()
    service.drop_in("Restart=no")
    service.describe(more=LEFT_AND_RUNNING.format(service.directory))
    assert (done := service.install()).exit_code == 0, done.output
    file = service.directory / "running"
    await eventually(lambda: file.exists() and file.read_text())
    left, running = (int((service.directory / name).read_text()) for name in ("left", "running"))
    os.kill(service.pid, signal.SIGKILL)
    await eventually(lambda: not Path(f"/proc/{running}").exists())
    await eventually(lambda: systemctl("show", "--value", "--property=ActiveState", service.name) == "failed")
    os.kill(left, signal.SIGKILL)  # raises if it had ended
    service.uninstall()


async def test_what_happens_is_in_the_journal_with_fields(service):
    await eventually(service.converged)
    service.target.write_text("drifted")
    await eventually(service.drifts)
    drift = service.drifts()[-1]
    assert drift["REACTOR_REF"] == f"file#{service.target}"
    assert drift["REACTOR_RESULT"] == "changed"
    assert drift["REACTOR_ACTIONS"] == "updated the content"
    assert drift["PRIORITY"] == "5"
    assert drift["MESSAGE"].startswith(f"file#{service.target}  changed  updated the content (drift, ")
    assert drift["_SYSTEMD_UNIT"] == service.unit.name
    with_fields = {entry["MESSAGE"] for entry in service.entries() if "REACTOR_EVENT" in entry}
    without = {entry["MESSAGE"] for entry in service.entries() if "REACTOR_EVENT" not in entry}
    assert with_fields
    assert not with_fields & without, "no line is said twice, once with fields and once without"


async def test_an_entry_that_is_too_long_for_a_datagram_arrives_whole(service):
    await eventually(service.converged)
    longer = service.target.with_name("longer")  # a file that is written in place may be repaired half-way
    longer.write_text("".join(f"line {number}\n" for number in range(60_000)))
    longer.replace(service.target)
    await eventually(lambda: any(len(drift["MESSAGE"]) > 60_000 for drift in service.drifts()))
    assert service.drifts()[-1]["MESSAGE"].count("\n-line ") == 60_000
    assert service.drifts()[-1]["REACTOR_REF"] == f"file#{service.target}"


async def test_it_gets_a_unit_that_systemd_has_nothing_against(service):
    command = ["systemd-analyze", "verify", "--man=no", str(service.unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


async def test_what_is_closed_is_closed_and_what_is_needed_is_open(service):
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{service.pid}/status").read_text().splitlines()
    )
    mounts = [line.split() for line in Path(f"/proc/{service.pid}/mountinfo").read_text().splitlines()]
    capabilities = int(status["CapBnd"], 16)
    assert status["NoNewPrivs"] == "1"
    assert not capabilities >> 21 & 1, "CAP_SYS_ADMIN"
    assert capabilities >> 1 & 1, "CAP_DAC_OVERRIDE"
    read_only = {mount[4] for mount in mounts if mount[5].startswith("ro")}
    assert {"/usr", "/root"} <= read_only
    assert "/etc" not in read_only


async def test_services_are_kept_running_from_inside(service):
    await eventually(service.converged)
    assert systemctl("is-active", OTHER.name) == "active"
    assert systemctl("is-enabled", OTHER.name) == "enabled"
    systemctl("stop", OTHER.name)
    await eventually(lambda: systemctl("is-active", OTHER.name) == "active")


async def test_metrics_are_where_the_options_say(service):
    await eventually(lambda: scraped()["reactor_converged"] == 1)
    assert scraped()["reactor_resources"] == 2


def scraped():
    """The value of each series without labels."""
    with urllib.request.urlopen(f"http://{ADDRESS}/metrics", timeout=60) as page:
        families = text_string_to_metric_families(page.read().decode())
    return {each.name: each.value for family in families for each in family.samples if not each.labels}


async def test_a_manifest_that_mounts_gets_its_mounts_seen_by_all():
    service = Installation()
    (point := service.directory / "point").mkdir()
    service.describe(
        more=f"  - mount:\n      - {point}: {{ ensure: mounted, device: tmpfs, fstype: tmpfs }}\n"
    )
    assert (done := service.install()).exit_code == 0, done.output
    await eventually(service.converged)
    assert str(point) in Path("/proc/self/mountinfo").read_text()
    service.uninstall()


async def test_what_is_added_and_closed_to_it_fails_and_is_not_done_out_of_sight():
    added, point = Path("/tmp/added"), Path("/srv/added")
    point.mkdir()
    sysctl = (
        "  - sysctl:\n      - kernel.domainname: { ensure: present, value: x }\n"  # which wants CAP_SYS_ADMIN
    )
    with installed(more=sysctl) as service:
        file = f"  - file:\n      - {added}: {{ {FILE}, content: x }}\n"
        mount = f"  - mount:\n      - {point}: {{ ensure: mounted, device: tmpfs, fstype: tmpfs }}\n"
        service.describe(more=f"{sysctl}{file}{mount}")
        await eventually(lambda: "2 failed" in service.show("StatusText"))
        assert not added.exists()


async def test_a_user_who_serves_a_mount_outlives_the_service():
    service = Installation()
    if not Path("/dev/fuse").exists():
        subprocess.run(["mknod", "/dev/fuse", "c", "10", "229"], check=True)
    (source := service.directory / "source").mkdir()
    (point := service.directory / "point").mkdir()
    (source / "file").touch()
    service.describe(
        more=f"  - mount:\n      - {point}: {{ ensure: mounted, device: {source}, fstype: fuse.bindfs }}\n"
    )
    assert (done := service.install()).exit_code == 0, done.output
    await eventually(service.converged)
    service.uninstall()
    assert (point / "file").exists()
    subprocess.run(["umount", point], check=True)


async def test_what_other_kinds_need_is_open_to_them():
    service = Installation()
    shared, www = Path("/srv/shared"), Path("/srv/www")
    shared.mkdir()
    shared.chmod(0o2775)
    www.symlink_to("/home")
    service.describe(more=OTHER_KINDS)
    assert (done := service.install()).exit_code == 0, done.output
    await eventually(service.converged)
    assert grp.getgrnam("reactors").gr_mem == ["reactor-user"]
    assert Path("/home/reactor-user/.").stat().st_uid == pwd.getpwnam("reactor-user").pw_uid
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == "1\n"
    assert socket.gethostname() == "from-a-service"
    assert (shared / "inner").stat().st_mode & 0o7777 == 0o2755
    assert Path("/home/inner").is_dir()
    assert {"left", "right"} <= {name for _, name in socket.if_nameindex()}
    service.uninstall()


async def test_odd_names_arrive_as_they_are():
    service = Installation('it\'s 100% "odd", $HOME')
    service.describe()
    facts = service.directory / "facts $$ 5%.yaml"
    facts.write_text("a: 1\n")
    assert (
        done := service.install("--", "--facts", facts.name, "--fact", "b=\ttwo\nlines\\")
    ).exit_code == 0, done.output
    await eventually(service.converged)
    assert service.target.read_text() == "desired"
    arguments = Path(f"/proc/{service.pid}/cmdline").read_text().split("\0")
    assert arguments[-5:-1] == ["--facts", facts.name, "--fact", "b=\ttwo\nlines\\"]
    service.uninstall()


def test_what_is_left_of_a_unit_without_a_file_is_taken_away():
    """Somebody has removed the file, and maybe told systemd so: the process runs on, and is enabled."""
    for tells in (False, True):
        one = Installation()
        one.describe()
        assert one.install().exit_code == 0
        pid, link = one.pid, ETC / "multi-user.target.wants" / one.unit.name
        one.unit.unlink()
        if tells:
            systemctl("daemon-reload")
        done = one.uninstall()
        assert done.exit_code == 0, done.stderr
        assert done.stdout == f"stopped {one.name}, whose unit was removed\nremoved {link}, a broken link\n"
        assert not Path(f"/proc/{pid}").exists()
        assert not link.is_symlink()
        assert one.uninstall().stdout == f"{one.name} is not installed\n"


def test_a_process_that_is_not_ours_is_not_stopped_when_its_unit_is_gone():
    other = ETC / "somebody-elses.service"
    other.write_text("[Service]\nExecStart=sleep infinity\n")
    systemctl("daemon-reload")
    systemctl("start", "somebody-elses")
    other.unlink()
    try:
        done = reactor("service", "uninstall", "--name", "somebody-elses")
        assert (done.exit_code, "not written by reactor" in done.stderr) == (2, True)
        assert systemctl("is-active", "somebody-elses") == "active"
    finally:
        systemctl("stop", "somebody-elses")
