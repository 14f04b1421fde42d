"""How messages describe values and choices, and hints for words of Ansible, Puppet, Salt and Chef in a manifest."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Final

from reactor.resource.redaction import masked_start
from reactor.suggestions import did_you_mean

_MAX_SHOWN = 60


def shown(value: Any) -> str:
    """Describe a value of a manifest in a short phrase: ``'abc'``, ``5``, ``a list``."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return shortened(repr(value) if isinstance(value, str) else str(value))


def shortened(text: str) -> str:
    """Return the text on one line, shortened when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{masked_start(line, _MAX_SHOWN - 3)}..."


def listed(words: Iterable[str], last: str = "or") -> str:
    """Join words: ``a, b or c``."""
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final


_NAME = "it is the name of the resource: write it before the colon, as in '- /etc/motd: {...}'"
_LOOP = "did you mean 'for_each'? Its element is {{ item }}"
_IF = "write control: {if: EXPRESSION}"

_ONE_HOST = "remove it: a manifest is about one host; 'reactor push' brings it to many"

_PORT = "a port stands behind its protocol: accept: tcp/22"
_RETRY = "write meta: {retry: 3, delay: 10s}"
_KEY = "an SSH key is a resource of its own: authorized_key"

_HOME: Final = {
    "state": ("ensure", "did you mean 'ensure'?"),
    "notify": (
        "subscribe",
        "reverse it: write subscribe in the resource to be refreshed, with this resource as its value",
    ),
    "before": (
        "require",
        "reverse it: write require in the resource that comes later, with this resource as its value",
    ),
    "when": ("control", _IF),
    "if": ("control", _IF),
    "onlyif": ("control", _IF),
    "unless": ("control", "write control: {unless: EXPRESSION}"),
    "path": ("name", _NAME),
    "dest": ("name", _NAME),
    "register": ("name", 'remove it: an expression of another resource reads output("KIND#NAME")'),
    "become": (
        "name",
        "remove it: everything is done as the user who starts reactor; an exec may have a user",
    ),
    "args": ("creates", "write what is in it beside the other properties"),
    "backrefs": ("insert_after", "remove it: line is the whole new line, and has no groups of the match"),
    "append": ("membership", "remove it: groups are added, unless membership is inclusive"),
    "backup": ("name", "remove it: former contents are kept, and 'reactor restore' brings one back"),
    "changed_when": ("name", "remove it: an exec that only looks has changes: false"),
    "daemon_reload": ("enable", "remove it: systemd reads its files again when they have changed"),
    "delegate_to": ("name", _ONE_HOST),
    "failed_when": (
        "name",
        "remove it: the exit codes with which an exec succeeds are in its returns: [0, 1]",
    ),
    "ignore_errors": ("name", "remove it: let others come 'after' this one instead of requiring it"),
    "no_log": ("name", "remove it: mark the value as secret, by '# @secret' in the data or secret(...)"),
    "retries": ("meta", _RETRY),
    "tries": ("meta", _RETRY),
    "try_sleep": ("meta", _RETRY),
    "run_once": ("name", _ONE_HOST),
    "dport": ("accept", _PORT),
    "port": ("accept", _PORT),
    "ports": ("accept", _PORT),
    "proto": ("accept", _PORT),
    "protocol": ("accept", _PORT),
    "ssh_key_file": ("manage_home", _KEY),
    "ssh_keys": ("manage_home", _KEY),
    "sshkeys": ("manage_home", _KEY),
    "tags": ("name", "remove it: 'reactor run --only' and '--exclude' select by kind and name"),
    "until": ("health_checks", "write it as a command under health_checks, with tries and try_sleep"),
    "update_cache": ("name", "remove it: lists are fetched when a package is looked for"),
    "virtualenv": (
        "requirements",
        "it is the name of the resource: write it before the colon, as in '- /opt/tools: {...}'",
    ),
    "with_items": ("name", _LOOP),
    "with_dict": ("name", _LOOP),
    "loop": ("name", _LOOP),
}
"""Word -> the property that replaces it or that shows that the word belongs to a resource, and the hint."""

_PROPERTIES: Final = {
    "path": "dest destfile file filename",
    "extract_parent": "dest extract_path",
    "accept": "allow",
    "command": "exec job",
    "cwd": "chdir",
    "device": "src",
    "from": "from_ip source src",
    "gateway": "via",
    "group": "gid",
    "in": "in_interface iniface interface",
    "ip": "address",
    "key": "gpgkey pubkey",
    "link": "dev iface interface",
    "match": "regexp",
    "on_calendar": "calendar schedule",
    "out": "out_interface outiface",
    "schedule": "special special_time",
    "source": "src",
    "suites": "dist release",
    "to": "destination",
    "revision": "branch commit rev tag version",
    "url": "baseurl remote repo repository source src uri",
    "user": "become_user",
}
"""Property -> the words for it in Ansible, Puppet and Salt; a word of several means the first that a kind has."""

_STATES: Final = {
    "created": "present",
    "deleted": "absent",
    "dir": "directory",
    "file": "present",
    "hash": "deep",
    "installed": "present",
    "removed": "absent",
    "start": "running",
    "started": "running",
    "stop": "stopped",
    "touch": "present",
    "uninstalled": "absent",
    "unique": "deep",
}
"""The word of another tool for a state, or for a merge -> the word here."""

_KINDS: Final = {
    "file": "copy template directory symlink get_url remote_file cookbook_file",
    "package": "apt yum dnf apt_package yum_package dpkg rpm",
    "service": "systemd systemd_service systemd_unit",
    "exec": "command shell script execute bash cmd",
    "line": "lineinfile file_line replace",
    "block": "blockinfile concat concat_fragment assemble",
    "setting": "ini_file ini_setting augeas",
    "archive": "unarchive archive_file tar_extract",
    "repository": "apt_repository yum_repository yumrepo apt_key pkgrepo",
    "authorized_key": "ssh_authorized_key ssh_auth",
    "known_host": "known_hosts sshkey",
    "limits": "pam_limits",
    "kernel_module": "modprobe kmod",
    "firewall": "ufw firewalld iptables nftables",
    "git": "vcsrepo",
    "pip": "virtualenv python",
    "filesystem": "blockdev",
    "volume_group": "lvg",
    "logical_volume": "lvol",
    "locale": "locale_gen",
    "container": "docker_container podman_container",
    "certificate": "x509 acme",
    "scaffold": "synchronize",
    "address": "nmcli",
    "apply": "include import_tasks include_tasks import_playbook",
    "role": "include_role import_role class",
}
"""Kind -> the words for it in Ansible, Puppet, Salt and Chef, that are not similar to its name."""

TASKS: Final = frozenset(("when", "notify", "become", "register", "loop", "with_items", "tags"))
"""The keys of a task of Ansible beside its name and its module."""

NAMES: Final = ("name", "path", "dest")
"""The properties that contain the name of a resource in other tools."""


def hint_home(word: str, known: Container[str]) -> str | None:
    """Return the hint for a word of another tool whose property is among ``known``; None for all other words."""
    meant = next(
        (each for each, words in _PROPERTIES.items() if each in known and word in words.split()), None
    )
    if meant:
        return f"did you mean {meant!r}?"
    marker, hint = _HOME.get(word, ("", None))
    return hint if marker in known else None


def kind_meant(word: str, kinds: Container[str]) -> str | None:
    """Return which of ``kinds`` a module of Ansible, such as ``ansible.builtin.copy``, or a type of Puppet is here."""
    name = word.rpartition(".")[2].lower()
    if name in kinds:
        return name
    return next((kind for kind, words in _KINDS.items() if name in words.split() and kind in kinds), None)


def hint_for_choice(word: str, choices: Iterable[str]) -> str | None:
    """Return the hint for ``word``, which is none of the ``choices``: the one it means here or resembles, or None."""
    known = tuple(choices)
    if word == "restarted" and "running" in known:
        return "a restart is a refresh: subscribe to what must cause it"
    if word in ("enabled", "disabled") and "running" in known:
        return f"whether it starts at boot is enable: {str(word == 'enabled').lower()}"
    if word.startswith("/") and "link" in known:
        return f"a link is ensure: link, with target: {word}"
    meant = _STATES.get(word, word.lower())
    return f"did you mean {meant!r}?" if meant in known else did_you_mean(word, known)
