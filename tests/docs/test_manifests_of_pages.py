"""Every manifest that a page of the documentation shows is a valid one."""

import re
from pathlib import Path

import pytest
from page_blocks import Page

from reactor import load
from reactor.manifest.inputs import Inputs
from reactor.resource.network_value import NetworkValue

ROOT = Path(__file__).parents[2]
FACTS = {
    "network": {"default_ipv4": "192.0.2.7"},
    "host": {"info": {"platformFamily": "debian", "hostname": "web1"}},
    "fleet": {"name": "web1", "groups": ["web"], "vars": {"colour": "green"}},  # as `reactor push` sends them
}


class AwayNetwork:
    """A network that is away, so that no value is known yet."""

    registers = True
    functions = frozenset({"registrations", "kvGet", "shared"})

    def read(self, function, arguments, *, briefly):
        return NetworkValue(function, may_pass=True)

    def warnings(self):
        return []


def is_whole(text):
    return any(line.startswith(("resources:", "ccm:")) for line in text.splitlines())


def role_in(text):
    """The name of the role whose manifest this is; None for other manifests."""
    found = re.match(r"# \S*roles/(\w+)/manifest\.yaml\n", text)
    return found and found[1]


MANIFESTS = {
    f"{path.relative_to(ROOT)}:{block.line}": block.text
    for path in sorted((ROOT / "docs").rglob("*.md"))
    for block in Page.of(path.read_text()).blocks
    if block.kind == "yaml" and is_whole(block.text) and not role_in(block.text)
}
ROLES = {
    role: block.text
    for path in sorted((ROOT / "docs").rglob("*.md"))
    for block in Page.of(path.read_text()).blocks
    if block.kind == "yaml" and (role := role_in(block.text))
}
"""The manifests of roles that pages show, by the names of their directories."""


@pytest.mark.parametrize("place", MANIFESTS)
def test_a_manifest_that_is_shown_is_valid(tmp_path, place):
    path = tmp_path / "site.yaml"
    path.write_text(MANIFESTS[place])
    for name, text in ROLES.items():
        role = tmp_path / "roles" / name / "manifest.yaml"
        role.parent.mkdir(parents=True)
        role.write_text(text)
    assert load(str(path), Inputs(FACTS, network=AwayNetwork())).graph.resources


def test_there_is_a_manifest_for_each_kind():
    shown = {place.partition(":")[0] for place in MANIFESTS}
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "kinds").glob("*.md")}
    assert pages - shown == {"docs/kinds/index.md"}
