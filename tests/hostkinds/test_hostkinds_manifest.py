"""The host kinds as they are written in manifests."""

from __future__ import annotations

import pytest

from reactor import ManifestError, load

GOOD = """
resources:
  - hostname:
      - web1.example.org: {pretty: Web server 1}
  - sysctl:
      - net.ipv4.ip_forward: {value: 1}
      - net/ipv4/tcp_rmem: {value: 4096 131072  6291456, persist: false}
      - vm.swappiness: {ensure: absent}
  - group:
      - web: {gid: 700, members: [alice], membership: inclusive}
  - user:
      - alice: {group: 700, groups: [staff], home: /home/alice, expires: 2030-12-31}
      - bob: {group: web, password: "*"}
  - mount:
      - /srv: {device: /dev/sdb1, fstype: ext4, options: "noatime,nofail", pass: 2}
      - /mnt: {device: tmpfs, fstype: tmpfs, options: [size=1m]}
      - /old: {ensure: absent}
"""


def write(tmp_path, text):
    path = tmp_path / "manifest.yaml"
    path.write_text(text)
    return str(path)


def test_a_manifest_of_all_host_kinds_is_valid(tmp_path):
    resources = load(write(tmp_path, GOOD)).graph.resources
    assert resources["sysctl#net.ipv4.ip_forward"].value == "1"
    assert resources["sysctl#net/ipv4/tcp_rmem"].value == "4096 131072 6291456"
    assert resources["user#alice"].group == 700
    assert resources["user#bob"].group == "web"
    assert resources["mount#/srv"].options == ("noatime", "nofail")
    assert resources["mount#/srv"].passno == 2
    assert resources["group#web"].users == ("alice",)


@pytest.mark.parametrize(
    ("entry", "message", "line"),
    [
        ("hostname: [{'a;reboot': {}}]", "is not a host name", 2),
        ("sysctl: [{'net.$(id)': {value: 1}}]", "is not a kernel parameter", 2),
        ("user: [{'a b': {}}]", "is not a valid account name", 2),
        ("group: [{'a/b': {}}]", "is not a valid account name", 2),
        ("mount: [{'/srv': {device: x, fstype: 'a b'}}]", "is not a type of file system", 2),
        ("mount: [{'/': {ensure: absent}}]", "/ can't be absent", 2),
        ("hostname: [{a: {}}, {b: {}}]", "do not agree on content of the path /etc/hostname", 2),
        (
            "sysctl: [{a.b: {value: 1}}, {a/b: {value: 2}}]",
            "do not agree on value of the kernel parameter a.b",
            2,
        ),
        (
            "hostname: [{a: {pretty: A}}, {b: {hostname: a, pretty: B}}]",
            "do not agree on pretty of the system host name",
            2,
        ),
        ("user: [{a: {uid: 7}}, {b: {uid: 7}}]", "do not agree on name of the user number 7", 2),
        ("group: [{a: {gid: 7}}, {b: {gid: 7}}]", "do not agree on name of the group number 7", 2),
    ],
)
def test_what_is_wrong_is_shown_with_its_place(entry, message, line, tmp_path):
    with pytest.raises(ManifestError) as raised:
        load(write(tmp_path, f"resources:\n  - {entry}\n"))
    (diagnostic,) = raised.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.place.line == line


def test_a_plain_password_is_refused_without_being_in_the_message(tmp_path):
    with pytest.raises(ManifestError) as raised:
        load(write(tmp_path, "resources:\n  - user:\n      - alice:\n          password: hunter22\n"))
    (diagnostic,) = raised.value.diagnostics
    assert "this is not the hash of a password" in diagnostic.message
    assert "hunter22" not in repr(diagnostic)


def test_a_host_name_file_with_another_content_is_a_contradiction(tmp_path):
    entry = "file: [{/etc/hostname: {ensure: present, content: b, owner: root, group: root, mode: '0644'}}]"
    with pytest.raises(ManifestError, match="do not agree on content of the path /etc/hostname"):
        load(write(tmp_path, f"resources:\n  - hostname: [{{a: {{}}}}]\n  - {entry}\n"))


def test_what_a_user_and_a_mount_rely_on_goes_first(tmp_path):
    owner = "owner: root, group: root, mode: '0755'"
    text = f"""
resources:
  - user: [{{alice: {{home: /srv/home/alice, manage_home: true, shell: /opt/sh}}}}]
  - file:
      - /srv/home/alice/.ssh: {{ensure: directory, {owner}}}
      - /srv/home: {{ensure: directory, {owner}}}
      - /opt/sh: {{ensure: present, {owner}}}
  - mount: [{{/srv: {{device: tmpfs, fstype: tmpfs}}}}]
"""
    edges = {(edge.first, edge.second) for edge in load(write(tmp_path, text)).graph.edges}
    assert {
        ("mount#/srv", "file#/srv/home"),
        ("file#/srv/home", "user#alice"),
        ("file#/opt/sh", "user#alice"),
        ("user#alice", "file#/srv/home/alice/.ssh"),
    } <= edges
