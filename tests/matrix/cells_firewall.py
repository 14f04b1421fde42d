"""Cells of the kind firewall: the tables of the kernel and the next boot, by what they are to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import must, said

RULES = [
    {"accept": "tcp/22", "from": ["10.0.0.0/8", "fd00::/8"]},
    {"accept": ["tcp/80", "udp/53", "icmp"], "comment": "web"},
]
HELD = (
    "ip saddr 10.0.0.0/8 tcp dport 22 accept",
    "ip6 saddr fd00::/8 tcp dport 22 accept",
    "udp dport 53 accept",
)
OTHERS = "table inet others {\n chain input {\n type filter hook input priority 10; policy accept;\n tcp dport 25 drop\n }\n}\n"
FILE, UNIT = Path("/etc/nftables.reactor.conf"), Path("/etc/systemd/system/reactor-firewall-reactor.service")
LINK = Path("/etc/systemd/system/sysinit.target.wants", UNIT.name)
STATES = {
    "no table": "",
    "an empty table": "table inet reactor { }\n",
    "another policy": "table inet reactor { chain input { type filter hook input priority 0; policy accept; }; }\n",
    "rules of others": "table inet reactor { chain input { type filter hook input priority 0; tcp dport 23 accept\n}; }\n",
    "chains of others": "table inet reactor { chain a { }; chain b { type nat hook prerouting priority 0; jump a\n}; }\n",
    "sets of others": "table inet reactor { set s { type ipv4_addr; elements = { 192.0.2.1 }\n}; }\n",
    "a dormant table": "table inet reactor { flags dormant; chain input { type filter hook input priority 0; }; }\n",
    "the name in another family": "table ip reactor { chain input { type filter hook input priority 0; }; }\n",
}
WANTED: dict[str, dict[str, object]] = {
    "rules": {"rules": RULES},
    "no rules": {},
    "all chains": {"rules": RULES, "policy": {"input": "drop", "forward": "drop", "output": "accept"}},
    "without basics": {"rules": RULES, "basics": False},
    "raw": {"rules": [*RULES, {"raw": "ct state invalid counter drop"}]},
    "sets": {"rules": [*RULES, {"raw": "ip saddr @s accept"}], "declarations": "set s { type ipv4_addr; elements = { 192.0.2.9 }\n}"},
    "only now": {"rules": RULES, "persist": False},
    "confirmed": {"rules": RULES, "confirm": {"seconds": 1, "connect": "127.0.0.1:1"}},
    "refused": {"rules": [*RULES, {"raw": "tcp dport none accept"}]},
    "absent": {"ensure": "absent"},
}  # fmt: skip
DRIFTS = {
    "table deleted": "delete table inet reactor", "chain flushed": "flush chain inet reactor input",
    "rule added": "add rule inet reactor input tcp dport 23 accept", "rule first": "insert rule inet reactor input accept",
    "policy": "add chain inet reactor input { policy accept; }", "dormant": "add table inet reactor { flags dormant; }",
    "chain added": "add chain inet reactor more { type filter hook output priority 0; policy drop; }",
    "everything flushed": f"flush ruleset\n{OTHERS}", "files removed": "", "files changed": "",
}  # fmt: skip


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in WANTED:
        for state, text in STATES.items():
            for at_boot in ("no files", "other files"):
                yield _cell(f"{state}, {at_boot}", wanted, partial(_make, text, at_boot))
        if wanted not in ("refused", "confirmed", "absent"):
            for drift in DRIFTS:
                yield _cell("no table", wanted, partial(_make, "", "no files"), drift)


def _cell(state, wanted, make, drift=None) -> Cell:
    resources = partial(_same, [{"firewall": [{"host": WANTED[wanted]}]}])
    acts = None if drift is None else partial(_drift, drift)
    title = " / ".join(filter(None, (state, wanted, drift)))
    fails = wanted in ("refused", "confirmed")
    reason = "only the change shows whether it connects" if wanted == "confirmed" else ""
    judge = partial(_wrong, wanted)
    return Cell("firewall", title, resources, judge, make, acts, fails, reason, _look, _clean)


def _same(manifest, place: Path):
    return manifest


def _make(text: str, at_boot: str, place: Path) -> None:
    must("nft", "-f", "-", text=f"flush ruleset\n{OTHERS}{text}")
    LINK.parent.mkdir(parents=True, exist_ok=True)
    if at_boot == "other files":
        FILE.write_text("# empty\n")
        UNIT.write_text("[Unit]\n")
        LINK.write_text("no link\n")


def _drift(drift: str, place: Path) -> None:
    if drift == "files removed":
        for path in (FILE, UNIT, LINK):
            path.unlink(missing_ok=True)
    elif drift == "files changed":
        FILE.write_text("# empty\n")
        UNIT.write_text("")
    else:
        must("nft", "-f", "-", text=f"{DRIFTS[drift]}\n")


def _look(place: Path) -> object:
    found = [path.is_symlink() or (path.exists() and path.read_text()) for path in (FILE, UNIT, LINK)]
    return must("nft", "--stateless", "list", "ruleset"), found


def _wrong(wanted: str, place: Path) -> str | None:
    others = differs(
        "the table of others", "tcp dport 25 drop" in said("nft", "list", "table", "inet", "others"), True
    )
    listed = said("nft", "--stateless", "list", "table", "inet", "reactor")
    files = [path.is_file() for path in (FILE, UNIT, LINK)]
    if wanted == "absent":
        gone = differs("our table", "table inet reactor" in must("nft", "list", "tables"), False)
        return first(others, gone, differs("that its files are there", files, [False] * 3))
    return first(
        others,
        _wrong_table(wanted, listed),
        differs("that its files are there", files, [wanted != "only now"] * 3),
        _wrong_boot(listed) if wanted != "only now" else None,
    )


def _wrong_table(wanted: str, listed: str) -> str | None:
    rules = HELD if "rules" in WANTED[wanted] else ()
    chains = {"input", "forward", "output"} if wanted == "all chains" else {"input"}
    return first(
        differs("the rules", [rule for rule in rules if rule not in listed], []),
        differs("the policy", "hook input priority filter; policy drop;" in listed, True),
        differs("the chains", set(re.findall(r"chain (\S+)", listed)), chains),
        differs("that it has the basics", "ct state established" in listed, wanted != "without basics"),
        differs("that it accepts telnet", "dport 23" in listed or "dormant" in listed, False),
    )


def _wrong_boot(listed: str) -> str | None:
    """What the unit would set at boot."""
    must("nft", "-f", FILE)
    booted = said("nft", "--stateless", "list", "table", "inet", "reactor")
    return first(
        differs("the table at the next boot", booted, listed),
        differs("the enabled unit", LINK.resolve(), UNIT),
        differs("the command of the unit", f"ExecStart=/usr/sbin/nft -f {FILE}\n" in UNIT.read_text(), True),
    )


def _clean(place: Path) -> None:
    must("nft", "flush", "ruleset")
    for path in (FILE, UNIT, LINK):
        path.unlink(missing_ok=True)
