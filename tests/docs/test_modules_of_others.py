"""The tables on the pages for those who come from Ansible and Salt: each entry is valid, each command is there."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
import yaml

from reactor import load
from reactor.cli.group import COMMANDS
from reactor.cli.group import reactor as group

DOCS = Path(__file__).parents[2] / "docs"


def rows_of(page, heading):
    """The second cell by the first one, of the table below a heading."""
    table = (DOCS / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (`.*?`) \| (.*) \|$", table, re.MULTILINE))


ROWS_OF_ANSIBLE = rows_of("coming-from-ansible.md", "Modules")
ROWS = ROWS_OF_ANSIBLE | rows_of("coming-from-salt.md", "States")
MODULES = {name for names in ROWS_OF_ANSIBLE for name in re.findall(r"`([^`]+)`", names)}
MOST_USED = [
    "command",
    "shell",
    "debug",
    "file",
    "template",
    "copy",
    "set_fact",
    "include_tasks",
    "import_tasks",
    "fail",
    "assert",
    "service",
    "systemd_service",
    "apt",
    "yum",
    "dnf",
    "package",
    "pip",
    "lineinfile",
    "blockinfile",
    "replace",
    "stat",
    "get_url",
    "unarchive",
    "uri",
    "user",
    "group",
    "authorized_key",
    "cron",
    "git",
    "include_vars",
    "pause",
    "wait_for",
    "find",
    "apt_key",
    "apt_repository",
    "yum_repository",
    "rpm_key",
    "hostname",
    "timezone",
    "sysctl",
    "mount",
    "modprobe",
    "iptables",
    "ufw",
    "firewalld",
    "npm",
    "alternatives",
    "ini_file",
    "known_hosts",
    "reboot",
    "setup",
]
KIND = re.compile(r"[a-z_]+: \{")
ENTRIES = {
    f"{names}: {code}": code
    for names, cell in ROWS.items()
    for code in re.findall(r"`([^`]+)`", cell)
    if KIND.match(code)
}
CALLS = [code for cell in ROWS.values() for code in re.findall(r"`(reactor [^`]+)`", cell)]


def test_of_the_fifty_most_used_modules_at_least_45_have_a_line():
    assert len(MOST_USED) >= 50
    assert len({*MOST_USED} & MODULES) >= 45, {*MOST_USED} - MODULES


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_is_valid(tmp_path, entry):
    (tmp_path / "app.conf.j2").write_text("x\n")
    (tmp_path / "templates/app").mkdir(parents=True)
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles/web.yaml").write_text("resources: []\n")
    [(kind, named)] = yaml.safe_load(entry).items()
    [(name, properties)] = named.items()
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump({"resources": [{kind: [{name: properties}]}]}))
    assert load(str(path)).graph.resources


@pytest.mark.parametrize("call", CALLS)
def test_a_command_takes_these_options(call):
    _, name, *words = call.split()
    assert name in COMMANDS
    command = group.get_command(click.Context(group), name)
    if isinstance(command, click.Group):
        return
    known = {option for each in command.params for option in each.opts}
    assert {word for word in words if word.startswith("-")} <= known
