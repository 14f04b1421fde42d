"""Recognises files of other programs that were given as a manifest, so that one error can say what they become here."""

from __future__ import annotations

import re
from typing import Any, Final

from reactor.manifest.phrasing import TASKS

_TASKS: Final = (
    "write each task as an entry under 'resources:': 'apt: {name: nginx, state: present}' is "
    "'- nginx: {ensure: present}' below '- package:' here; docs/coming-from-ansible.md has the words and the modules"
)
_INVENTORY: Final = (
    "an inventory of Ansible",
    "a manifest is about one host; for many, give this file to 'reactor push DIRECTORY -i INVENTORY'",
)
_HIERA: Final = (
    "the hiera.yaml of Puppet",
    "the levels go under 'hierarchy: order:', and what differs under 'overrides:'; docs/coming-from-puppet.md says how",
)
_SALT: Final = (
    "a state of Salt",
    "'pkg.installed' of nginx is '- nginx: {ensure: present}' below '- package:'; docs/coming-from-salt.md has the states",
)
_LANGUAGES: Final = {
    ".pp": ("Puppet", "docs/coming-from-puppet.md"),
    ".mcl": ("mgmt", "docs/coming-from-mgmt.md"),
    ".cf": ("CFEngine", "docs/quickstart.md"),
    ".rb": ("Ruby", "docs/quickstart.md"),
}
"""Suffix of a file -> the program or language that it belongs to, and the page to begin with."""

_OF_VAULT: Final = "it is encrypted by ansible-vault: decrypt it there, and give it to age, SOPS or Vault, which 'secrets:' reads"

_PLAY: Final = frozenset(("hosts", "import_playbook", "ansible.builtin.import_playbook"))
_OF_TASKS: Final = TASKS | {"name", "block"}
_OF_ROLES: Final = frozenset(("tasks", "handlers", "pre_tasks", "galaxy_info"))
_OF_GROUPS: Final = frozenset(("hosts", "children", "vars"))
_STATE: Final = re.compile(r"(?:pkg|file|service|cmd|user|group)\.\w+")
_GROUP: Final = re.compile(r"(?:\s*[#;].*\n|\s*\n)*\[[\w.:-]+\]\s*$", re.MULTILINE)
"""Matches the beginning of an inventory, up to the name of its first group."""


def document_of_others(root: Any) -> tuple[str, str] | None:
    """Return what the tree ``root`` is for another program, and what to do with it here; None for anything else."""
    if isinstance(root, list):
        return _of_list([each for each in root if isinstance(each, dict)])
    return _of_map(root) if isinstance(root, dict) else None


def _of_list(items: list[dict[str, Any]]) -> tuple[str, str] | None:
    if any(each.keys() & _PLAY for each in items):
        return "a playbook of Ansible", _TASKS
    if any(each.keys() & _OF_TASKS for each in items):
        return "a list of tasks of Ansible", _TASKS
    return None


def _of_map(root: dict[str, Any]) -> tuple[str, str] | None:
    if root.keys() & _OF_ROLES:
        return ("a play of Ansible" if "hosts" in root else "a part of a role of Ansible"), _TASKS
    if "version" in root and isinstance(root.get("hierarchy"), list):
        return _HIERA
    values = [each for each in root.values() if isinstance(each, dict)]
    if "data" not in root and values and all(each and each.keys() <= _OF_GROUPS for each in values):
        return _INVENTORY
    return _SALT if any(_STATE.fullmatch(str(key)) for each in values for key in each) else None


def hint_for_code(file: str, text: str) -> str | None:
    """Return what to do with the ``text`` of ``file``, which is no YAML, if it is for another program; else None."""
    suffix = next((each for each in _LANGUAGES if file.endswith(each)), None)
    if suffix is not None:
        program, page = _LANGUAGES[suffix]
        return f"this looks like code for {program}, and a manifest is YAML: {page} shows one"
    if _GROUP.match(text):
        return f"this looks like {_INVENTORY[0]}: {_INVENTORY[1]}"
    return hint_for_encrypted(text)


def hint_for_encrypted(text: str) -> str | None:
    """Return what to do with ``text``, a file or a value, if ansible-vault has encrypted it; else None."""
    return _OF_VAULT if text.startswith("$ANSIBLE_VAULT;") else None
