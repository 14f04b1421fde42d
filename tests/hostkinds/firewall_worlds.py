"""Tables of nftables in the network namespace of the tests, as nft sees them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from reactor.resources.firewall import Firewall
from reactor.resources.firewall.property_types import Rule

UNIT = "reactor-firewall-reactor.service"
RULES_FILE = Path("/etc/nftables.reactor.conf")
OTHERS = "table inet others { chain input { type filter hook input priority 10; policy accept; tcp dport 25 drop\n}; }\n"


def nft(*words, text=None):
    """What nft writes; it must succeed."""
    done = subprocess.run(["nft", *words], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def tables():
    """Everything in all tables, without what packets change."""
    return nft("--stateless", "list", "ruleset")


def ours():
    """Our table, or nothing."""
    return nft("--stateless", "list", "table", "inet", "reactor") if "table inet reactor" in tables() else ""


def world():
    """All that the kind could change."""
    files = {
        str(path): path.is_symlink() or path.read_text()
        for path in Path("/etc").rglob("*")
        if path.is_symlink() or path.is_file()
    }
    return tables(), files


def rule(**properties):
    """A rule as in a manifest, where `from` and `in` are written without an underscore."""
    return Rule.model_validate({name.rstrip("_"): value for name, value in properties.items()})


def firewall(*rules, **properties):
    """The usual one, with these rules."""
    return Firewall(name="host", rules=tuple(rules), **properties)
