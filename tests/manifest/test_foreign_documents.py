"""A file of another program, given as a manifest, is one error that says what it is and what to do with it."""

from __future__ import annotations

import pytest

from reactor.documents import parse_values
from reactor.loading import load
from reactor.resource.diagnostic import ManifestError

PLAYBOOK = "- name: web\n  hosts: web\n  become: true\n  tasks:\n    - apt: {name: nginx, state: present}\n"
PLAY_OF_ROLE = "tasks: []\nhandlers: []\n"
INVENTORY = "all:\n  children:\n    web:\n      hosts:\n        web1: {ansible_host: 10.0.0.1}\n"
HIERA = 'version: 5\nhierarchy:\n  - {name: node, path: "%{facts.fqdn}.yaml"}\n'
FILES = {
    "site.yml": (PLAYBOOK, "this is a playbook of Ansible, not a manifest", "- nginx: {ensure: present}"),
    "main.yml": ("- name: a\n  copy: {src: a, dest: /etc/a}\n", "a list of tasks of Ansible", "docs/coming-from-ansible.md"),
    "tasks.yml": (PLAY_OF_ROLE, "a part of a role of Ansible", "resources:"),
    "hosts.yaml": (INVENTORY, "an inventory of Ansible", "reactor push"),
    "hosts": ("# all\n[web]\nweb1 ansible_host=10.0.0.1\n", "bad YAML", "reactor push"),
    "hiera.yaml": (HIERA, "the hiera.yaml of Puppet", "overrides"),
    "site.pp": ("class nginx {\n  package { 'nginx': ensure => installed }\n}\n", "bad YAML", "code for Puppet"),
    "site.mcl": ('file "/tmp/x" { state => "exists", }\n', "a manifest is a map", "code for mgmt"),
    "all.yml": ("$ANSIBLE_VAULT;1.1;AES256\n6231\n", "a manifest is a map", "encrypted by ansible-vault"),
    "vars.yml": ("data: {}\nresources: []\ndefaults: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6231\n", "unknown tag !vault", "'secrets:'"),
    "init.sls": ("nginx:\n  pkg.installed: []\n", "a state of Salt", "docs/coming-from-salt.md"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_program_is_one_error_with_what_to_do(tmp_path, name):
    text, words, hint = FILES[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ManifestError, match=words) as caught:
        load([str(tmp_path / name)])
    [problem] = caught.value.diagnostics
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("- file: []\n", "put the list under 'resources:'"),
        ("[web\n", "a ',' or ']' is missing"),
        ("data: {hosts: {web1: 1}}\n", "add a list under 'resources:'"),
    ],
)
def test_a_manifest_with_a_mistake_is_not_taken_for_a_file_of_another_program(tmp_path, text, hint):
    (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(ManifestError) as caught:
        load([str(tmp_path / "site.yaml")])
    assert hint in [each.hint for each in caught.value.diagnostics]


def test_a_data_file_that_ansible_vault_encrypted_says_where_secrets_go():
    with pytest.raises(ManifestError, match="a map is expected here") as caught:
        parse_values("$ANSIBLE_VAULT;1.1;AES256\n6231\n", "all.yml")
    assert "'secrets:'" in caught.value.hint
