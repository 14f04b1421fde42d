"""Runs of kinds whose state lies in files are proven to have nothing to do, until one of these files changes."""

import fcntl
import os
import subprocess
import time
from pathlib import Path

import pytest
from apt_root import AptRoot
from deb_packages import Deb
from hostkinds_worlds import shell
from proven_worlds import ProvenWorld, restamp
from ssh_keys import ed25519

from reactor.cli.running import run_proof

SPOOL = Path("/var/spool/cron/crontabs")
KEY = ed25519(1)
OLD = 0.05
MANIFEST = f"""
resources:
  - user: [ada: {{uid: 1500, shell: /bin/sh, expires: never}}, gone: {{ensure: absent}}]
  - user: [eve: {{manage_home: true, create_home: true}}]
  - group: [staff: {{members: [ada]}}]
  - line: [Port 22: {{path: /etc/app/line}}, other: {{path: /etc/none, ensure: absent}}]
  - block: [peers: {{path: /etc/app/block, content: one}}]
  - setting: [swappiness: {{path: /etc/app/setting.json, value: 10}}]
  - host: [db.internal: {{ip: 192.0.2.5}}]
  - known_host: [git.internal: {{key: {KEY}}}]
  - authorized_key: [ada: {{user: ada, key: {KEY}}}]
  - cron:
      - backup: {{command: backup, schedule: "@daily"}}
      - hers: {{command: hers, schedule: "@daily", table: user}}
      - none: {{ensure: absent}}
  - limits: [ada: {{nofile: 100}}]
  - alternatives: [editor: {{path: /etc/app/nano}}]
  - file: [/etc/app/link: {{ensure: link, target: nano}}, /etc/app/none: {{ensure: absent}}, /etc/missing/x: {{ensure: absent}}]
"""
COUNT = 19
CHANGES = {
    "another shell": ("/etc/passwd", "sed -i s,/bin/sh,/bin/bash, $1"),
    "a user who is gone": ("/etc/passwd", "sed -i /^ada:/d $1"),
    "a user who came": ("/etc/passwd", "echo gone:x:77:77::/:/bin/sh >> $1"),
    "a member who is gone": ("/etc/group", "sed -i 's,^\\(staff.*:\\).*,\\1,' $1"),
    "an account that expires": ("/etc/shadow", "sed -i 's,^\\(ada:.*\\)::,\\19:,' $1"),
    "no line": ("/etc/app/line", "echo > $1"),
    "no file": ("/etc/app/line", "rm $1"),
    "a link": ("/etc/app/line", "mv $1 $1.other; ln -s $1.other $1"),
    "a block": ("/etc/app/block", "sed -i s,one,two, $1"),
    "a value": ("/etc/app/setting.json", "sed -i s,10,11, $1"),
    "an address": ("/etc/hosts", "sed -i s,192.0.2.5,192.0.2.6, $1"),
    "no known host": ("/etc/ssh/ssh_known_hosts", "rm $1"),
    "no key": ("/home/ada/.ssh/authorized_keys", "echo > $1"),
    "a job": ("/etc/cron.d/backup", "echo >> $1"),
    "a mode": ("/etc/cron.d/backup", "chmod 0600 $1"),
    "a table": (f"{SPOOL}/root", "echo > $1"),
    "limits": ("/etc/security/limits.d/ada.conf", "rm $1"),
    "another choice": ("/etc/alternatives/editor", "ln -sfn vim $1"),
    "no common name": ("/etc/app/editor", "rm $1"),
    "a status": ("/var/lib/dpkg/alternatives/editor", "sed -i s,manual,auto, $1"),
    "no program": ("/etc/app/nano", "rm $1"),
    "a target": ("/etc/app/link", "ln -sfn vim $1"),
}  # fmt: skip
"""By what changes: a path, which comes back, and what changes it."""
APPEARANCES = {
    "a file for the line": ("echo other > /etc/none", "rm /etc/none"),
    "a job": ("touch /etc/cron.d/none", "rm /etc/cron.d/none"),
    "a file": ("touch /etc/app/none", "rm /etc/app/none"),
    "a file with its directory": ("mkdir /etc/missing; touch /etc/missing/x", "rm -r /etc/missing"),
    "what a killed run left": ("touch /etc/app/.link.0123456789ab.reactor", "rm /etc/app/.link.0123456789ab.reactor"),
    "another home": ("mv /home/eve /home/other; cp -a /home/other /home/eve", "rm -r /home/eve; mv /home/other /home/eve"),
    "no home": ("mv /home/eve /home/other", "mv /home/other /home/eve"),
    "writers of a home": ("chmod g+w /home/ada", "chmod g-w /home/ada"),
    "writers of the keys": ("chmod g+w /home/ada/.ssh", "chmod g-w /home/ada/.ssh"),
}  # fmt: skip
"""What changes something else, and what undoes that."""


@pytest.fixture
def world(own_directories, tmp_path, monkeypatch):
    """All of the manifest but what a run makes; this process stands in for the one that looks at the proof."""
    database = "/var/lib/dpkg/alternatives"
    for directory in (database, SPOOL.parent):
        subprocess.run(["mount", "-t", "tmpfs", "none", directory], check=True)
    shell(f"""
    mkdir -p /etc/app /etc/ssh /etc/cron.d /etc/security/limits.d /etc/alternatives {SPOOL} /home/ada/.ssh
    touch /etc/app/line /etc/app/block /etc/app/vim /etc/app/nano
    echo '{{}}' > /etc/app/setting.json; echo 127.0.0.1 localhost > /etc/hosts
    useradd --uid 1500 --no-create-home ada; chown -R ada /home/ada
    for each in vim nano; do update-alternatives --quiet --install /etc/app/editor editor /etc/app/$each 1; done
    """)
    world = ProvenWorld(tmp_path / "world", MANIFEST)
    stand_in(monkeypatch, world)
    yield world
    subprocess.run(["umount", database, SPOOL.parent], check=True)


def stand_in(monkeypatch, world):
    """Let this process look at the proof, without showing anything."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: len(data) if fd == 1 else real(fd, data))
    monkeypatch.setattr(run_proof, "session_digest", lambda: world.session)


def proven(world):
    """Run until a run has proven that nothing is to do; the last proof is for this process, too."""
    settle()
    was_proven, (code, out, err) = world.run()
    assert (was_proven, code, err) == (False, 0, []), out
    assert "changed 0" in out[-1], out
    was_proven, shown = world.run()
    assert was_proven, shown
    assert shown == (0, out, err)
    world.change_proof(session=world.session)


def settle():
    """Let what was changed just now be older than the next run."""
    began = time.monotonic()
    while time.monotonic() < began + OLD:
        os.sched_yield()


def test_each_file_that_a_check_reads_is_compared(world):
    _, (code, out, err) = world.run()
    assert (code, err) == (0, []), out
    # What the run has changed could have changed again before it was looked at.
    assert not world.proof.exists()
    proven(world)
    found = {}
    for name, (path, change) in CHANGES.items():
        shell('rm -rf /var/log/kept; cp -a "$1" /var/log/kept', path)
        shell(change, path)
        found[name] = world.proves()
        shell('rm -rf "$1"; cp -a /var/log/kept "$1"', path)
        restamp(world)
        assert world.proves(), name
    for name, (change, undo) in APPEARANCES.items():
        shell(change)
        found[f"{name} appears"] = world.proves()
        shell(undo)
        restamp(world)
        assert world.proves(), name
    assert not any(found.values()), found


def test_what_has_changed_is_repaired_by_the_next_run(world):
    world.run()
    proven(world)
    shell("userdel ada; sed -i s,192.0.2.5,192.0.2.6, /etc/hosts")
    was_proven, (code, out, _) = world.run()
    assert not was_proven
    assert (code, out[-1].split("  (")[0]) == (0, f"ok {COUNT - 3}  changed 3"), out
    assert "ada" in Path("/etc/passwd").read_text()
    assert "192.0.2.5" in Path("/etc/hosts").read_text()


# ---- packages ----

DPKG = "/var/lib/dpkg"
PACKAGES = """
resources:
  - package:
      - app: {ensure: present}
      - exact: {ensure: "1.0-1", hold: true}
      - old: {ensure: absent}
"""
STATUS_CHANGES = {
    "a removal": "sed -i s,install.ok.installed,deinstall.ok.config-files, $1/status",
    "another version": "sed -i s,^Version:.1.0-1,Version:.2.0-1, $1/status",
    "no hold": "sed -i s,^Status:.hold,Status:.install, $1/status",
    "an update that is pending": "touch $1/updates/0001",
    "another architecture": "echo i386 > $1/arch",
    "other units": "touch $1/info/app.other",
}


@pytest.fixture
def apt(own_directories, tmp_path):
    """A system of apt of its own, whose database is in the place of that of the host."""
    debs = [Deb(name, version) for name in ("app", "exact", "old") for version in ("1.0-1", "2.0-1")]
    root = AptRoot(tmp_path / "system", *debs)
    root.update()
    shell('mkdir -p /etc/apt; cp "$1" /etc/apt', root.root / "apt.conf")
    subprocess.run(["mount", "--bind", root.root / "var/lib/dpkg", DPKG], check=True)
    yield root
    subprocess.run(["umount", DPKG], check=True)


@pytest.fixture
def packages(apt, tmp_path, monkeypatch):
    """The manifest, as the first run has left the host."""
    world = ProvenWorld(tmp_path / "world", PACKAGES)
    apt.install("old")
    _, (code, out, err) = world.run()
    assert (code, err) == (0, []), out
    assert apt.packages.keys() == {"app", "exact"}
    assert not world.proof.exists()
    stand_in(monkeypatch, world)
    proven(world)
    return world


def test_the_database_of_packages_is_compared(packages, tmp_path):
    found, kept = {}, str(tmp_path / "kept")
    shell('cp -a "$1/status" "$2"', DPKG, kept)
    for name, change in STATUS_CHANGES.items():
        shell(change, DPKG)
        found[name] = packages.proves()
        shell('rm -f "$1"/arch "$1"/updates/0001 "$1"/info/app.other; cp -a "$2" "$1/status"', DPKG, kept)
        restamp(packages)
        assert packages.proves(), name
    assert not any(found.values()), found


def test_a_package_manager_that_is_running_is_waited_for(packages):
    """As a run waits, because it may be about to change anything."""
    with open(f"{DPKG}/lock-frontend", "r+b") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        holder = os.fork()
        if holder == 0:  # a lock of the process itself would not be seen
            os._exit(packages.proves())
        assert os.waitstatus_to_exitcode(os.waitpid(holder, 0)[1]) == 0
    assert packages.proves()


def test_what_others_did_to_packages_is_repaired(packages, apt):
    apt.apt_get("remove", "app")
    apt.install("old")
    was_proven, (code, out, err) = packages.run()
    assert (was_proven, code, err) == (False, 0, [])
    assert "changed 2" in out[-1], out
    assert apt.packages.keys() == {"app", "exact"}


@pytest.mark.parametrize(
    "other", ["app: {ensure: latest}", "virtual: {ensure: present}", "app: {ensure: present, source: FILE}"]
)
def test_what_depends_on_more_than_the_database_is_not_proven(apt, tmp_path, other):
    apt.offer(Deb("real", "1.0-1", provides="virtual"), Deb("app", "1.0-1"))
    apt.update()
    apt.install("real", "app=1.0-1")
    file = next(apt.repository.glob("app*1.0-1*.deb"))
    world = ProvenWorld(
        tmp_path / "world", f"resources: [{{package: [{other.replace('FILE', str(file))}]}}]\n"
    )
    settle()
    _, (code, out, err) = world.run()
    assert (code, err) == (0, []), out
    assert "changed 0" in out[-1], out
    assert not world.proof.exists()
