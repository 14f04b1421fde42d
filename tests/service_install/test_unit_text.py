"""The unit file: what it runs, and what of the host it closes."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from processes_of_cli import finish, spawned

from reactor.resource.base import Resource
from reactor.resource.health import HealthCheck
from reactor.resource.registry import find_kind, kind_names
from reactor.resource.relations import SandboxAccess
from reactor.resources.accounts import Group, User
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.resources.hostname import Hostname
from reactor.resources.mount import Mount
from reactor.resources.network import Address, Link
from reactor.resources.service import Service as UnitResource
from reactor.resources.sysctl import Sysctl
from reactor.service.installation import PACKAGED
from reactor.service.sandbox import sandbox
from reactor.service.unit import MARK, Service, quoted

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "service.md").read_text()
TMP = "ReadOnlyPaths=-/tmp -/var/tmp"
OWN = {"owner": "root", "group": "root", "mode": "0644"}


def test_the_page_on_kinds_names_all_that_a_sandbox_can_leave_open():
    told = (DOCS / "writing-a-kind.md").read_text().rpartition("`SandboxAccess`")[2]
    assert [access.name for access in SandboxAccess if f"`{access.name}`" not in told] == []


def a_file(path, **more):
    return File(name=path, ensure="present", content="x", **{**OWN, **more})


def closed(*resources, paths=()):
    return [line for line in sandbox(resources, paths) if not line.startswith("#")]


def reasons(*resources):
    return [line for line in sandbox(resources) if line.startswith("#")]


@pytest.mark.parametrize(
    ("resource", "system"),
    [
        (UnitResource(name="nginx"), "ProtectSystem=strict"),
        (Address(name="192.0.2.1/24", link="eth0"), "ProtectSystem=strict"),
        (a_file("/srv/www/index.html"), "ProtectSystem=full"),
        (a_file("/opt/app/conf"), "ProtectSystem=full"),
        (a_file("/home/ada/x"), "ProtectSystem=full"),
        (a_file("/etc/motd"), "ProtectSystem=yes"),
        (a_file("/etcetera"), "ProtectSystem=full"),
        (Hostname(name="web1"), "ProtectSystem=yes"),
        (Sysctl(name="vm.swappiness", value="1"), "ProtectSystem=yes"),
        (Group(name="web"), "ProtectSystem=yes"),
        (User(name="ada"), "ProtectSystem=yes"),
        (a_file("/usr/local/bin/tool"), None),
        (File(name="/boot/x", ensure="absent"), None),
        (Mount(name="/srv", device="/dev/sdb1", fstype="ext4", ensure="mounted"), None),
    ],
)
def test_the_file_system_is_closed_as_far_as_the_kind_lets_it(resource, system):
    assert next((line for line in closed(resource) if line.startswith("ProtectSystem=")), None) == system


@pytest.mark.parametrize(
    ("resource", "line"),
    [
        (a_file("/home/ada/.profile"), "ProtectHome=read-only"),
        (a_file("/root/x"), "ProtectHome=read-only"),
        (User(name="ada"), "ProtectHome=read-only"),
        (a_file("/tmp/x"), TMP),
        (a_file("/sys/fs/cgroup/own/memory.max"), "ProtectControlGroups=yes"),
        (Sysctl(name="vm.swappiness", value="1"), "ProtectKernelTunables=yes"),
        (Hostname(name="web1"), "CapabilityBoundingSet=~CAP_SYS_ADMIN"),
        (Link(name="br0", type="bridge"), "CapabilityBoundingSet=~CAP_NET_ADMIN"),
        (Link(name="br0", type="bridge", netns="blue"), "RestrictNamespaces=yes"),
        (Mount(name="/srv", device="/dev/sdb1", fstype="ext4", ensure="mounted"), TMP),
        (Mount(name="/srv", device="/dev/sdb1", fstype="ext4", ensure="mounted"), "ProtectKernelLogs=yes"),
    ],
)
def test_what_a_resource_needs_stays_open_and_the_unit_says_for_whom(resource, line):
    harmless = UnitResource(name="nginx")
    assert line in closed(harmless)
    assert line not in closed(harmless, resource)
    assert any(reason.startswith(f"# Not {line}: {resource.ref} ") for reason in reasons(harmless, resource))


@pytest.mark.parametrize(
    "resource",
    [
        Exec(name="true"),
        a_file("/etc/motd", validate="true {path}"),
        a_file("/etc/motd", health_checks=[HealthCheck(command="true")]),
    ],
)
def test_where_commands_run_nothing_is_closed(resource):
    assert closed(UnitResource(name="nginx"), resource) == []
    assert reasons(resource) == [f"# Nothing is closed: {resource.ref} may run any command."]


class Odd(Resource, kind="odd"):
    """Somebody's kind."""

    ensure: str = "present"

    async def observe(self):
        """Nothing."""

    def plan(self, state, *, refresh):
        """Nothing."""
        return ()


class Modest(Odd, kind="modest"):
    """Somebody's kind, which says what it needs."""

    def sandbox_access(self):
        """A directory, and the network."""
        return (SandboxAccess.NETWORK, f"/etc/{self.name}")


def test_a_kind_that_does_not_say_what_it_needs_may_need_anything():
    assert closed(Odd(name="x")) == []


def test_a_kind_of_another_user_leaves_closed_what_it_does_not_need():
    lines = closed(Modest(name="x"))
    assert {"ProtectSystem=yes", TMP, "CapabilityBoundingSet=~CAP_SYS_ADMIN"} <= {*lines}
    assert "CapabilityBoundingSet=~CAP_NET_ADMIN" not in lines
    assert "# Not ProtectSystem=full: modest#x manages something below /etc." in reasons(Modest(name="x"))


def test_a_name_can_not_write_lines_of_the_unit():
    lines = list(sandbox([a_file("/etc/x\nExecStartPre=/bin/false")], ["/tmp/a\nb"]))
    assert [line for line in lines if line.startswith("Exec") or "\n" in line] == []


def test_what_a_symlink_leads_to_is_open_as_well(tmp_path):
    (tmp_path / "link").symlink_to("/etc")
    assert "ProtectSystem=yes" in closed(a_file(f"{tmp_path}/link/x"))


def test_a_directory_keeps_its_setgid_bit():
    assert "RestrictSUIDSGID=yes" in closed(a_file("/srv/x"))
    assert "RestrictSUIDSGID=yes" not in closed(File(name="/srv/x", ensure="directory", **OWN))


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("plain", "plain"),
        ("/a/b.yaml", "/a/b.yaml"),
        ("", '""'),
        ("a b", '"a b"'),
        ("100%", '"100%%"'),
        ("$HOME", '"$HOME"'),
        ('say "x"', '"say \\"x\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("two\nlines", '"two\\x0alines"'),
        ("file#/etc/*", '"file#/etc/*"'),
        (";", '";"'),
    ],
)
def test_words_are_quoted_as_systemd_reads_them(word, written):
    assert quoted(word) == written


def setting(text, name):
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{name}=")]


def test_the_unit_runs_this_program_on_this_manifest():
    text = Service("web", ("/etc/web/site.yaml",), ("--jobs", "3")).unit([])
    assert text.startswith(MARK)
    (command,) = setting(text, "ExecStart")
    assert shlex.split(command) == [
        sys.executable, "-P", "-m", "reactor", "run", "/etc/web/site.yaml", "--jobs", "3",
    ]  # fmt: skip
    assert setting(text, "WorkingDirectory") == ["/etc/web"]
    assert setting(text, "StateDirectory") == ["web"]
    assert setting(text, "Environment") == ["REACTOR_STATE_DIR=/var/lib/web"]


def test_a_directory_whose_name_ends_with_a_space_is_named_whole():
    """systemd takes the space away otherwise, and does not find the directory."""
    text = Service("web", ("/etc/web /site.yaml",)).unit([])
    assert "WorkingDirectory=/etc/web /" in text.splitlines()


def settings_of(text):
    """All that a unit says, by section; without the sandbox, which comes after the directories."""
    text = text.partition("# The sandbox for this manifest")[0]
    return {line for line in text.splitlines() if re.match(r"\w+=", line)}


def test_the_unit_of_the_debian_package_differs_only_in_what_is_measured_at_installation():
    packaged = (Path(__file__).parents[2] / "scripts/debian/reactor.service").read_text()
    ours = Service("reactor", ("/etc/reactor/site.yaml",)).unit([])
    assert packaged.startswith(PACKAGED)
    assert {line.partition("=")[0] for line in settings_of(packaged) - settings_of(ours)} == {
        "ExecStart", "Documentation", "ConditionPathExists", "WantedBy",
    }  # fmt: skip
    assert {line.partition("=")[0] for line in settings_of(ours) - settings_of(packaged)} == {"ExecStart"}
    (command,) = setting(packaged, "ExecStart")
    assert command == "/opt/reactor/bin/python3 -P -m reactor run /etc/reactor/site.yaml"


def test_a_state_directory_of_ones_own_can_be_written():
    strict = Service("web", ("/etc/web/site.yaml",), (), "/srv/state", "/srv/the cache").unit([])
    assert setting(strict, "ProtectSystem") == ["full"]
    assert setting(strict, "StateDirectory") == []
    assert (
        setting(Service("web", ("/etc/web/site.yaml",), (), "/srv", "/root/x").unit([]), "ProtectHome") == []
    )


def test_a_state_directory_or_a_cache_below_tmp_can_be_written():
    assert setting(Service("web", ("/etc/web/site.yaml",), (), "/tmp/s").unit([]), "ReadOnlyPaths") == []
    assert (
        setting(Service("web", ("/etc/web/site.yaml",), (), None, "/var/tmp/c").unit([]), "ReadOnlyPaths")
        == []
    )


def test_a_manifest_from_elsewhere_waits_for_the_network():
    text = Service("web", ("https://example.net/site.tar.gz",)).unit([])
    assert setting(text, "After") == ["network-online.target"]
    assert setting(text, "WorkingDirectory") == ["/"]


def test_every_kind_that_says_what_it_needs_is_in_the_table_of_the_page():
    rows = PAGE.partition("| resources in the manifest |")[2]
    ours = (kind for kind in map(find_kind, kind_names()) if kind.__module__.startswith("reactor.resources."))
    saying = [kind.kind for kind in ours if kind.sandbox_access is not Resource.sandbox_access]
    assert "sysctl" in saying
    assert [kind for kind in saying if kind != "file" and f"`{kind}`" not in rows] == []


# ---- the command ----


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text("resources:\n  - exec:\n      - 'true': {}\n")
    return path


def service(*args, **options):
    with spawned("service", *args, **options) as process:
        return finish(process)


def test_a_dry_run_shows_the_unit_and_needs_nothing(manifest, tmp_path):
    done = service("install", "--dry-run", "site.yaml", "--", "--state-dir", "state", cwd=tmp_path)
    assert done.code == 0
    assert setting(done.out, "Environment") == [f"REACTOR_STATE_DIR={tmp_path}/state"]
    assert f"run {manifest} --state-dir state" in setting(done.out, "ExecStart")[0]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["{manifest}", "--", "--jbos", "3"], "--jobs"),
        (["{manifest}", "--", "--converge-once"], "so a service can't have it"),
        (["{manifest}", "--", "--render"], "so a service can't have it"),
        (["{manifest}", "--", "--help"], "can't be an option of a service"),
        (["{manifest}", "--", "--metrics", "0.0.0.0:1"], "--metrics-token-file"),
        (["{manifest}", "--", "--metrics", "127.0.0.1:1", "--metrics-token-file", "/nowhere"], "/nowhere"),
        (["{manifest}", "second.yaml"], "second.yaml"),
        (["--name", "a/b", "{manifest}"], "is not a valid name for a unit"),
        (["/nonexistent/site.yaml"], "there is no directory /nonexistent"),
        (["{manifest}.missing"], "No such file"),
        (["/tmp/two\nlines.yaml"], "can't be in a unit"),
        (["https://ada:secret@example.net/site.tar.gz"], "the URL has a password"),
    ],
)
def test_what_can_not_run_as_a_service_is_refused_at_once(manifest, args, complaint):
    done = service("install", *(arg.replace("{manifest}", str(manifest)) for arg in args))
    assert done.code == 2
    assert complaint in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_data_that_only_a_variable_names_are_refused_for_the_service_would_not_have_them(
    manifest, monkeypatch
):
    monkeypatch.setenv("CCM_HIERA_DATA", str(manifest))
    done = service("install", manifest)
    assert done.code == 2
    assert "add --hiera after '--'" in done.err


def test_without_systemd_it_says_so(manifest):
    for args in (["install", manifest], ["uninstall"]):
        done = service(*args)
        assert done.code == 2
        assert "this host was not started by systemd" in done.err or "only root may" in done.err
        assert "hint: " in done.err


def test_the_service_leaves_no_core_for_its_secrets_would_be_in_it():
    unit = Service("reactor", ("/etc/reactor/site.yaml",)).unit([])
    assert "\nLimitCORE=0\n" in unit
