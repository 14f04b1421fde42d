"""The files of a new role."""

from __future__ import annotations

_MANIFEST = """\
# What the role {name} takes: the manifest that uses it gives these values.
parameters:
  greeting: {{type: string, default: "{{{{ Data.greeting }}}}", description: the text of the file}}
  directory: {{type: string, default: /srv/{name}, pattern: "/.+"}}

# Data of the role itself: defaults that may differ from host to host.
data: {{greeting: hello}}

# What others can read: output("role#{name}").file
outputs:
  file: "{{{{ Parameters.directory }}}}/{name}.conf"

defaults:
  file: {{owner: "{owner}", group: "{group}", mode: "0644"}}

resources:
  - file:
      - "{{{{ Parameters.directory }}}}": {{ensure: directory, mode: "0755"}}
      - "{{{{ Parameters.directory }}}}/{name}.conf":
          ensure: present
          template: templates/{name}.conf.j2
"""
_TEMPLATE = "greeting = {{{{ Parameters.greeting }}}}\n"
_TESTS = """\
manifest: ../manifest.yaml
tests:
  the defaults:
    resources:
      file#/srv/{name}/{name}.conf: {{mode: "0644"}}
  another directory:
    parameters: {{directory: /opt/{name}}}
    resources:
      file#/opt/{name}/{name}.conf: {{ensure: present}}
    absent: "file#/srv/*"
  a directory that is no path:
    parameters: {{directory: here}}
    problems: directory must match
"""


def files_of_role(name: str, owner: str, group: str) -> dict[str, str]:
    """Return the files of a new role: the text of each by its path below the directory of the role."""
    words = {"name": name, "owner": owner, "group": group}
    return {
        "manifest.yaml": _MANIFEST.format(**words),
        f"templates/{name}.conf.j2": _TEMPLATE.format(**words),
        f"tests/{name}.yaml": _TESTS.format(**words),
    }
