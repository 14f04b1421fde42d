"""Cells of the kinds link, address and route that keep a file for the next boot, of ifupdown or netplan."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cell import Cell, differs, first, fixed_manifest
from cells_network import BASE
from programs import must, said


class Way(NamedTuple):
    """A program that sets the network at boot, its directory, and what else it must find there."""

    program: str
    directory: Path
    stem: str
    suffix: str
    others: str
    lines: dict[str, str]


MAIN = Path("/etc/network/interfaces")
WAYS = {
    "ifupdown": Way(
        "/sbin/ifup", Path("/etc/network/interfaces.d"), "reactor-v0", "", "iface mine inet manual\n",
        {
            "address": "    address 192.0.2.5/24", "link": "    pre-up ip link set dev v0 mtu 1400",
            "route": "    up ip -4 route replace 198.51.100.0/24 dev v0 metric 7 table 254",
        },
    ),
    "netplan": Way(
        "/usr/sbin/netplan", Path("/etc/netplan"), "90-reactor-v0", ".yaml", "network: {version: 2}\n",
        {
            "address": '    "v0": {"addresses": ["192.0.2.5/24"]}', "link": '    "v0": {"mtu": 1400}',
            "route": '    "v0": {"routes": [{"to": "198.51.100.0/24", "metric": 7, "table": 254, "scope": "link"}]}',
        },
    ),
}  # fmt: skip
WANTED: dict[str, tuple[str, dict[str, object]]] = {
    "address": ("-address-192.0.2.5_24", {"address": "192.0.2.5/24", "link": "v0"}),
    "route": ("-route-198.51.100.0_24-7-254", {"destination": "198.51.100.0/24", "link": "v0", "metric": 7}),
    "link": ("", {"link": "v0", "mtu": 1400}),
}
STATES = {"no file": None, "another text": "# other\n", "an empty file": ""}


def cells() -> Iterator[Cell]:
    """All cells, of the programs that this host has."""
    for name, way in WAYS.items():
        if Path(way.program).exists():
            for kind in WANTED:
                yield from _kept(name, way, kind)


def _kept(name: str, way: Way, kind: str) -> Iterator[Cell]:
    suffix, properties = WANTED[kind]
    file = way.directory / f"{way.stem}{suffix}{way.suffix}"
    for ensure in ("present",) if kind == "link" else ("present", "absent"):
        manifest = partial(
            fixed_manifest, [{kind: [{"b": {**properties, "persist": name, "ensure": ensure}}]}]
        )
        judge = partial(_wrong, way, file, way.lines[kind] if ensure == "present" else None)
        for state, text in STATES.items():
            make = partial(_make, way, file, text)
            look, clean = partial(_look, way), partial(_clean, way)
            yield Cell(kind, f"{name}: {state} / {ensure}", manifest, judge, make, look=look, clean=clean)
            drift, begin = partial(_write, file, text), partial(_make, way, file, None)
            title = f"{name}: no file / {ensure} / {state}"
            yield Cell(kind, title, manifest, judge, begin, drift, look=look, clean=clean)


def _make(way: Way, file: Path, text: str | None, place: Path) -> None:
    for line in BASE.split("; "):
        must("ip", *line.split())
    way.directory.mkdir(parents=True, exist_ok=True)
    (way.directory / f"mine{way.suffix}").write_text(way.others)
    (way.directory / f"mine{way.suffix}").chmod(0o600)
    if way.stem == "reactor-v0":
        MAIN.write_text("source /etc/network/interfaces.d/*\n")
    _write(file, text, place)


def _write(file: Path, text: str | None, place: Path) -> None:
    file.unlink(missing_ok=True)
    if text is not None:
        file.write_text(text)


def _look(way: Way, place: Path) -> object:
    files = {path.name: path.read_text() for path in sorted(way.directory.iterdir())}
    routes = said("ip", "-4", "route").replace(" linkdown", "")  # the pair needs a moment
    return files, said("ip", "-4", "-oneline", "address"), routes


def _wrong(way: Way, file: Path, line: str | None, place: Path) -> str | None:
    others = differs("the file of others", (way.directory / f"mine{way.suffix}").read_text(), way.others)
    if line is None:
        return first(others, differs("that its file is there", file.exists(), False))
    said_there = file.exists() and line in file.read_text().splitlines()
    return first(others, differs("that it is said", said_there, True))


def _clean(way: Way, place: Path) -> None:
    said("ip", "link", "del", "v0")
    shutil.rmtree(way.directory, ignore_errors=True)
    MAIN.unlink(missing_ok=True)
