"""`reactor push` to real sshds on loopback: what each host has afterwards is the old bundle or the new one."""

import os
import socket
import subprocess
import sys

import pytest
from processes_of_cli import wait_until

from reactor.fleet.bundle.channel import Channel
from reactor.fleet.bundle.store import BundleStore

MANIFEST = """\
resources:
  - file:
      - {root}/{{{{ Facts.fleet.name }}}}: {{ensure: present, content: "{content} {{{{ Facts.fleet.vars.colour }}}}\\n", owner: {user}, group: {group}, mode: "0644"}}
"""


@pytest.fixture(scope="module")
def managed(tmp_path_factory):
    """The directory that the pushed manifests write to, a file for each host."""
    return tmp_path_factory.mktemp("managed")


@pytest.fixture
def site(tmp_path, managed):
    """Write a directory to push; call it again for another content."""

    def write(content, more=b""):
        directory = tmp_path / "site"
        directory.mkdir(exist_ok=True)
        owner = {"user": os.geteuid(), "group": os.getegid()}
        (directory / "manifest.yaml").write_text(MANIFEST.format(root=managed, content=content, **owner))
        (directory / "more").write_bytes(more)
        return directory

    return write


@pytest.fixture(scope="module")
def hosts(world):
    """Two good hosts, and one without reactor."""
    found = {name: world.start(name) for name in ("web1", "web2")}
    found["bare"] = world.start("bare", path="/usr/bin:/bin")
    return found


@pytest.fixture
def inventory(tmp_path, hosts):
    """Write an inventory of these hosts, with further lines."""

    def write(*names, more=""):
        path = tmp_path / "hosts.ini"
        lines = "\n".join(hosts[name].line for name in names)
        path.write_text(f"[web]\n{lines}\n{more}\n[web:vars]\ncolour=green\n")
        return path

    write.hosts = hosts
    return write


@pytest.fixture
def push(reactor, world):
    """Run `reactor push` in this process."""

    def run(*words):
        return reactor("push", "-F", world.config, "--connect-timeout", "60", *words)

    return run


def bundles(host):
    return sorted(os.listdir(host.fleet / "bundles"))


def test_a_push_brings_the_new_bundle_and_a_rollback_the_one_before(push, site, inventory, hosts, managed):
    hosts_file = inventory("web1", "web2")
    dry = push(site("first"), "-i", hosts_file, "--noop", "--diff")
    assert dry.code == 0, dry
    assert "web1:   +first green" in dry.out
    assert "2 hosts: would change 2" in dry.out
    assert not list(managed.iterdir())
    assert hosts["web1"].current() is None
    assert bundles(hosts["web1"]) == []

    first = push(site("first"), "-i", hosts_file)
    assert first.code == 0, first
    assert (managed / "web1").read_text() == (managed / "web2").read_text() == "first green\n"
    assert "2 hosts: changed 2" in first.out
    old = hosts["web1"].current()

    assert push(site("second"), "-i", hosts_file, "-l", "web1").code == 0
    assert (managed / "web1").read_text() == "second green\n"
    assert (managed / "web2").read_text() == "first green\n"
    assert hosts["web1"].current() != old

    assert push(site("second"), "-i", hosts_file, "-l", "web1").out.count("ok 1") == 1

    back = push("--rollback", "-i", hosts_file, "-l", "web1")
    assert back.code == 0, back
    assert (managed / "web1").read_text() == "first green\n"
    assert hosts["web1"].current() == old == hosts["web2"].current()


def test_only_a_missing_reactor_is_exit_code_4(push, site, inventory):
    assert push(site("x"), "-i", inventory("web2", "bare")).code == 4


def test_what_ssh_can_not_reach_and_what_has_no_reactor_leaves_the_others_alone(
    push, site, inventory, managed, hosts
):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        more = f"down ansible_host=127.0.0.1 ansible_port=1\nsilent ansible_host=127.0.0.1 ansible_port={silent.getsockname()[1]}"
        done = push(
            site("others"),
            "-i",
            inventory("web2", "bare", more=more),
            "--connect-timeout",
            "2",
            "--format",
            "json",
        )
    assert done.code == 3
    ended = {each["host"]: each for each in done.records if each["event"] == "hostended"}
    assert {name: each["result"] for name, each in ended.items()} == {
        "web2": "changed", "bare": "missing", "down": "unreachable", "silent": "unreachable",
    }  # fmt: skip
    assert (managed / "web2").read_text() == "others green\n"
    assert "refused" in ended["down"]["error"]
    assert "timed out" in ended["silent"]["error"]
    assert ended["bare"]["code"] == "R0805"
    assert "--bootstrap" in ended["bare"]["hint"]
    assert done.records[-1]["event"] == "pushended"


def test_a_host_behind_one_that_can_not_be_reached_is_told_with_the_way_to_see_why(
    push, site, world, hosts, tmp_path
):
    config = tmp_path / "config"
    config.write_text(
        f"Host inner\n  HostName 127.0.0.1\n  Port {hosts['web1'].port}\n  ProxyJump 127.0.0.1:1\n{world.config.read_text()}"
    )
    done = push(site("behind"), "inner", "-F", config)
    assert done.code == 3
    assert "hint: its ProxyJump or ProxyCommand does not lead there; see why: ssh inner true" in done.out


def test_a_login_that_ends_before_reactor_begins_is_told_with_the_way_to_see_it(push, site, world):
    host = world.start("limited", ForceCommand="exit 3")
    done = push(site("limited"), f"127.0.0.1:{host.port}")
    assert done.code == 1
    assert "127.0.0.1: the login ended with exit code 3 before reactor began\n" in done.out
    assert f"hint: see why this does not end with 0: ssh -p {host.port} 127.0.0.1 true" in done.out


def test_what_an_inventory_says_of_the_way_to_a_host_and_is_not_used_is_told(push, site, inventory):
    more = (
        "web2 ansible_become_user=app ansible_ssh_common_args='-o ProxyJump=b' ansible_connection=ssh\n"
        "other ansible_connection=local\n"
    )
    done = push(site("told"), "-i", inventory("web2", more=more), "-l", "web2", "--noop")
    assert done.code == 0, done
    assert "not used from the inventory: ansible_become_user, ansible_ssh_common_args\n" in done.err
    assert "hint: write options of ssh, such as ProxyJump, into ~/.ssh/config" in done.err
    assert "not used" not in push(site("told"), "-i", inventory("web2"), "--noop").err


def test_the_next_push_needs_no_login_but_with_another_key_it_does(push, site, world, inventory, tmp_path):
    host = inventory.hosts["seen"] = world.start("seen", LogLevel="INFO")
    directory, mine = site("seen"), inventory("seen")
    assert [push(directory, "-i", mine).code for _ in range(2)] == [0, 0]
    assert host.log.read_text().count("Accepted publickey") == 1

    stranger = tmp_path / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", stranger], check=True)
    others = inventory("seen", more=f"seen ansible_ssh_private_key_file={stranger}")
    assert push(directory, "-i", others).code == 0, "the key of the configuration counts, too"
    assert host.log.read_text().count("Accepted publickey") == 2


def test_a_host_that_has_only_python_gets_reactor_with_the_bundle(push, site, world, inventory, managed):
    programs = world.directory / "only-python"
    programs.mkdir()
    (programs / "python3").symlink_to(os.path.realpath(sys.executable))
    only = inventory.hosts["only"] = world.start("only", path=f"{programs}:/usr/bin:/bin")
    done = push(site("sent along"), "-i", inventory("only"), "--bootstrap")
    assert done.code == 0, done
    assert (managed / "only").read_text() == "sent along green\n"
    assert only.current()
    sent = world.directory / "home-only/.cache/reactor/bootstrap"
    assert len(os.listdir(sent)) == 1

    assert push(site("sent before"), "-i", inventory("only")).code == 0
    assert (managed / "only").read_text() == "sent before green\n"
    assert push("--rollback", "-i", inventory("only")).code == 0
    assert (managed / "only").read_text() == "sent along green\n"

    sent.chmod(0o777)
    done = push(site("never"), "-i", inventory("only"))
    assert done.code == 1
    assert f"{sent} can be changed by others" in done.out


def test_a_manifest_that_is_not_valid_there_never_comes_into_force(push, site, inventory, hosts, managed):
    before, content = hosts["web2"].current(), (managed / "web2").read_text()
    directory = site("broken")
    manifest = directory / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("colour", "color"))
    done = push(directory, "-i", inventory("web2"))
    assert done.code == 1
    assert "web2: manifest.yaml:3:" in done.out
    assert "2 hosts" not in done.out
    assert hosts["web2"].current() == before
    assert (managed / "web2").read_text() == content


def test_a_wave_with_failures_is_the_last(push, site, inventory, managed):
    for name in ("web1", "web2"):
        (managed / name).unlink(missing_ok=True)
    down = "down ansible_host=127.0.0.1 ansible_port=1"
    hosts_file = inventory("web1", "web2")
    hosts_file.write_text(f"{down}\n{hosts_file.read_text()}")
    done = push(site("waves"), "-i", hosts_file, "--serial", "1,100%", "-l", "all")
    assert done.code == 3
    assert "3 hosts: not tried 2, unreachable 1" in done.out
    assert not {"web1", "web2"} & set(os.listdir(managed))
    allowed = push(site("waves"), "-i", hosts_file, "--serial", "1", "--max-failed", "1", "-l", "down:web1")
    assert allowed.code == 3
    assert (managed / "web1").read_text() == "waves green\n"


BREAKS = """\
#!/bin/sh
(dd bs=4k count=30 status=none; kill -9 $PPID) | {program} "$@"
"""


def test_a_connection_that_breaks_in_the_middle_of_the_bundle(push, site, world, inventory, managed):
    hosts = inventory.hosts
    wrapper = world.directory / "breaks/reactor"
    wrapper.parent.mkdir()
    wrapper.write_text(BREAKS.format(program=world.directory / "bin/reactor"))
    wrapper.chmod(0o755)
    broken = world.start("broken", path=f"{wrapper.parent}:/usr/bin:/bin", state=hosts["web1"].state)
    before = hosts["web1"].current()
    assert before
    hosts["broken"] = broken
    done = push(site("broken", os.urandom(1_000_000)), "-i", inventory("broken"))
    assert done.code == 3
    assert "the connection broke while the bundle was sent" in done.out
    store = BundleStore(str(broken.state))
    wait_until(lambda: is_free(store))
    assert broken.current() == before
    assert os.listdir(broken.fleet / "tmp") == []
    assert not (managed / "broken").exists()


def is_free(store):
    """Whether no process is changing the bundles."""
    return subprocess.run(["flock", "-n", f"{store.root}/lock", "true"], check=False).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_host_whose_disk_is_full_keeps_what_it_has(push, site, world, inventory, managed):
    hosts = inventory.hosts
    state = world.directory / "small"
    state.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k,mode=700", "tmpfs", str(state)], check=True)
    try:
        hosts["small"] = small = world.start("small", state=state)
        assert push(site("fits"), "-i", inventory("small")).code == 0
        before = small.current()
        done = push(site("too large", os.urandom(1_000_000)), "-i", inventory("small"))
        assert done.code == 1
        assert "No space left on device" in done.out
        assert small.current() == before
        assert Channel(BundleStore(str(state)), "push").facts["fleet"]["vars"] == {"colour": "green"}
        assert os.listdir(small.fleet / "tmp") == []
        assert (managed / "small").read_text() == "fits green\n"
    finally:
        small.process.kill()
        subprocess.run(["umount", "-l", str(state)], check=True)


def test_a_run_of_another_manifest_keeps_a_push_out(push, site, inventory, hosts, managed):
    before = hosts["web2"].current()
    lock = hosts["web2"].state / "lock"
    with subprocess.Popen(["flock", str(lock), "cat"], stdin=subprocess.PIPE) as holder:
        wait_until(lambda: subprocess.run(["flock", "-n", str(lock), "true"], check=False).returncode)
        lock.write_text('{"pid": 1, "manifest": "/etc/site.yaml", "since": 0}')
        done = push(site("locked"), "-i", inventory("web2"))
        holder.stdin.close()
    assert done.code == 1
    assert "process 1 (reactor run /etc/site.yaml," in done.out
    assert hosts["web2"].current() == before


def test_what_is_in_the_way_of_a_push_is_said_before_any_host_is_asked(push, site, tmp_path, inventory):
    hosts_file = inventory("web1")
    for words, said in (
        ((site("x"),), "name the hosts"),
        ((site("x"), "web1", "-i", hosts_file), "name the hosts"),
        ((tmp_path / "nothing", "web1"), "is not a directory"),
        ((tmp_path, "web1"), "has no manifest.yaml"),
        ((site("x"), "-i", hosts_file, "-l", "wbe1"), "did you mean 'web1'"),
        ((site("x"), "-i", hosts_file, "--serial", "ten"), "neither a number of hosts nor a percentage"),
        ((site("x"), "web1", "--max-size", "10"), "at most 10 bytes are allowed"),
        (("--sudo", "--", site("x"), f"-oProxyCommand=touch {tmp_path}/owned"), "is not the name or address"),
        ((site("x"), f"-l{tmp_path}@web1"), "name the hosts"),
        ((site("x"), "-x@web1"), "-x"),
    ):
        done = push(*words)
        assert done.code == 2, words
        assert said in done.err, (words, done.err)
    assert not (tmp_path / "owned").exists()
