"""The arrows inside the wing, and that it is not imported by a run without a network."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OWN = {
    "wire": ("reactor.fleet.wire",),
    "link": ("reactor.fleet.wire", "reactor.fleet.link", "reactor.errors"),
}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("part", OWN)
def test_the_protocol_knows_nothing_of_the_project_and_the_link_only_the_protocol(part):
    paths = [*(ROOT / "reactor/fleet" / part).rglob("*.py")]
    assert paths
    for path in paths:
        for module in imported(path):
            if module.split(".")[0] == "reactor":
                assert module.startswith(OWN[part]), f"{path} imports {module}"
            if part == "wire":
                assert module.split(".")[0] not in {"trio", "socket", "ssl"}, f"{path} does I/O"


UNUSED = {
    "reactor.journal.sent_events",
    "reactor.language.expression.expression",
    "reactor.language.expression.template",
    "reactor.manifest.assertions",
    "reactor.manifest.ccm_parts",
    "reactor.manifest.jet_templates",
    "reactor.manifest.kind_defaults",
    "reactor.manifest.deferred_elements",
    "reactor.manifest.notify_section",
    "reactor.manifest.outside",
    "reactor.manifest.parameters",
    "reactor.manifest.role_calls",
    "reactor.manifest.site_data",
    "reactor.manifest.syntax_errors",
    "reactor.resource.deferred_loop",
    "reactor.resource.role",
}
"""Modules for what the manifest of the test has none of: expressions, roles, defaults, channels, errors, events that are sent."""
MOST_MODULES = 219
"""Modules of reactor that a run of one file imports. Each costs every start; before the fleet there were 214."""


def test_a_run_without_a_network_imports_nothing_of_it(tmp_path):
    manifest = tmp_path / "site.yaml"
    own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0644"'
    manifest.write_text(
        f"resources:\n  - file:\n      - {tmp_path}/x: {{ensure: present, content: a, {own}}}\n"
    )
    command = [sys.executable, "-X", "importtime", "-m", "reactor", "run", "--converge-once", str(manifest)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "reactor.engine.engine" in names
    assert not {name for name in names if name.startswith(("reactor.fleet", "cryptography"))}
    assert not names & UNUSED
    assert len([name for name in names if name.startswith("reactor")]) <= MOST_MODULES
    assert not {name for name in names if has_usual_named_tuples(name)}
    assert (tmp_path / "x").read_text() == "a"


def has_usual_named_tuples(name):
    """Whether the module of this name has named tuples that take five times as long to make. Kinds may, as a third party's."""
    if not name.startswith("reactor.") or name.startswith("reactor.resources."):
        return False
    path = ROOT / name.replace(".", "/")
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    return "(NamedTuple)" in text and "reactor.named_tuple" not in text


def test_the_link_needs_cryptography_only_for_keys():
    code = (
        "import sys, reactor.fleet.link.jetstream, reactor.fleet.link.context\n"
        "import reactor.fleet.link.key_value, reactor.fleet.link.objects\n"
        "print([name for name in sys.modules if name.startswith(('cryptography', 'pydantic', 'asyncio'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n"
