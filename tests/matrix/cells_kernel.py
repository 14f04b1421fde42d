"""Cells of the kinds sysctl and hostname: the running kernel and the next boot, by what they are to be."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first, fixed_manifest
from programs import must, said

KEYS = {
    "net.ipv4.ip_forward": ("0", "1"),
    "net.core.somaxconn": ("4096", "2048"),
    "net.ipv4.tcp_rmem": ("4096\t131072\t6291456", "4096 65536 1048576"),
    "net/ipv4/conf/lo/rp_filter": ("0", "2"),
    "net.ipv6.conf.default.forwarding": ("0", "1"),
}
"""The value that each has at first, and the one that is wanted."""
FILES = ("no file", "no directory", "its file", "a file with another value", "an empty file")
WANTED: dict[str, dict[str, object]] = {
    "value": {},
    "value, this boot only": {"persist": False},
    "absent": {"ensure": "absent"},
}
REFUSED = {
    "no such parameter": ("net.ipv4.no_such_thing", "1"),
    "of a link that is not there": ("net.ipv4.conf.nolink9.rp_filter", "1"),
    "read-only parameter": ("kernel.osrelease", "1.0"),
    "read-only file system": ("vm.swappiness", "7"),
    "no number": ("net.ipv4.ip_forward", "abc"),
    "out of range": ("net.ipv4.ip_default_ttl", "70000"),
    "a directory": ("net.ipv4.conf", "1"),
}
NOT_FORETOLD = {"no number", "out of range"}
DRIFTS = ("value changed", "file removed", "file changed", "both")
OLD, NEW = "before", "after"
NAMES = {
    "as before": (OLD, OLD, None), "as desired": (NEW, NEW, None), "for now only": (NEW, OLD, None),
    "for the next boot only": (OLD, NEW, None), "no file": (OLD, None, None), "empty file": (OLD, "", None),
    "pretty": (OLD, OLD, "Old one"), "pretty as desired": (NEW, NEW, "New one"),
}  # fmt: skip
NAMES_WANTED: dict[str, dict[str, object]] = {"name": {}, "pretty name": {"pretty": "New one"}}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for key in KEYS:
        for wanted in WANTED:
            for is_set in (False, True):
                for file in FILES:
                    yield _sysctl(key, wanted, is_set, file)
            for drift in DRIFTS:
                yield _sysctl(key, wanted, False, "no file", drift)
    for name, (key, value) in REFUSED.items():
        reason = "only the kernel knows the values that it takes" if name in NOT_FORETOLD else ""
        for persist in (True, False):
            resources = partial(fixed_manifest, [{"sysctl": [{key: {"value": value, "persist": persist}}]}])
            judge = partial(lambda place: None)
            look, make = partial(_read_both, key), partial(_remember, key)
            yield Cell(
                "sysctl", f"{name}, {persist=}", resources, judge, make, None, True, reason, look, _restore
            )
    yield from _hostnames()


def _sysctl(key: str, wanted: str, is_set: bool, file: str, drift: str | None = None) -> Cell:
    old, new = KEYS[key]
    properties = dict(WANTED[wanted]) if wanted == "absent" else {"value": new, **WANTED[wanted]}
    resources = partial(fixed_manifest, [{"sysctl": [{key: properties}]}])

    def make(place: Path) -> None:
        _remember(key, place)
        _path(key).write_text(new if is_set else old)
        if file == "no directory":
            shutil.move("/etc/sysctl.d", place / "sysctl.d")
        texts = {
            "its file": _line(key, new),
            "a file with another value": _line(key, "7"),
            "an empty file": "",
        }
        if file in texts:
            _file(key).write_text(texts[file])

    name = " / ".join(filter(None, (f"{key} {'set' if is_set else 'not set'}, {file}", wanted, drift)))
    acts = None if drift is None else partial(_drift, key, drift)
    judge = partial(_sysctl_wrong, key, wanted)
    lost = file == "no directory" and wanted == "value"
    return Cell(
        "sysctl", name, resources, judge, make, acts, lost, look=partial(_read_both, key), clean=_restore
    )


def _drift(key: str, drift: str, place: Path) -> None:
    if drift in ("value changed", "both"):
        _path(key).write_text(KEYS[key][0])
    if drift in ("file removed", "both"):
        _file(key).unlink(missing_ok=True)
    if drift == "file changed":
        _file(key).write_text(_line(key, "7"))


def _sysctl_wrong(key: str, wanted: str, place: Path) -> str | None:
    file = _file(key)
    if wanted == "absent":
        return differs("that its file is there", file.exists(), False)
    value = " ".join(_path(key).read_text().split())
    fault = differs("the value", value, KEYS[key][1])
    if wanted != "value":
        return fault or differs("that its file is there", file.exists(), False)
    said("sysctl", "-w", f"{_dotted(key)}={KEYS[key][0]}")
    said("sysctl", "-p", file)
    booted = " ".join(_path(key).read_text().split())
    return first(fault, differs("the value at the next boot", booted, KEYS[key][1]))


def _dotted(key: str) -> str:
    return key.replace("/", ".") if "/" in key else key


def _path(key: str) -> Path:
    return Path("/proc/sys", *_dotted(key).split("."))


def _file(key: str) -> Path:
    return Path(f"/etc/sysctl.d/zz-reactor-{_dotted(key)}.conf")


def _line(key: str, value: str) -> str:
    return f"# Managed by reactor: what is changed here is changed back.\n{_dotted(key)} = {value}\n"


def _read_both(key: str, place: Path) -> object:
    path, file = _path(key), _file(key)
    return path.is_file() and path.read_text(), file.exists() and file.read_text()


def _remember(key: str, place: Path) -> None:
    Path("/etc/sysctl.d").mkdir(exist_ok=True)
    (place / "key").write_text(key)
    if _path(key).is_file():
        (place / "value").write_text(_path(key).read_text())


def _restore(place: Path) -> None:
    if (place / "sysctl.d").exists():
        shutil.rmtree("/etc/sysctl.d", ignore_errors=True)
        shutil.move(place / "sysctl.d", "/etc/sysctl.d")
    key = (place / "key").read_text()
    _file(key).unlink(missing_ok=True)
    if os.access(_path(key), os.W_OK) and (place / "value").exists():
        said("sysctl", "-w", f"{_dotted(key)}={(place / 'value').read_text().strip()}")


def _hostnames() -> Iterator[Cell]:
    for wanted, properties in NAMES_WANTED.items():
        for state, names in NAMES.items():
            yield _hostname(state, wanted, names, properties)
        for drift, names in NAMES.items():
            yield _hostname("as before", wanted, NAMES["as before"], properties, (drift, names))


def _hostname(state, wanted, names, properties, drift=None) -> Cell:
    resources = partial(fixed_manifest, [{"hostname": [{NEW: properties}]}])
    acts = None if drift is None else partial(_set_names, drift[1])
    name = " / ".join(filter(None, (state, wanted, drift and drift[0])))

    def wrong(place: Path) -> str | None:
        pretty = None
        if "pretty" in properties:
            info = Path("/etc/machine-info")
            text = info.read_text() if info.exists() else ""
            pretty = differs("the pretty name", 'PRETTY_HOSTNAME="New one"' in text, True)
        return first(
            differs("the name now", socket.gethostname(), NEW),
            differs("the name at the next boot", Path("/etc/hostname").read_text().strip(), NEW),
            pretty,
        )

    return Cell(
        "hostname",
        name,
        resources,
        wrong,
        partial(_set_names, names),
        acts,
        look=_look_names,
        clean=_clean_names,
    )


def _set_names(names: tuple[str, str | None, str | None], place: Path) -> None:
    running, at_boot, pretty = names
    must("hostname", running)
    for path, text in (
        ("/etc/hostname", at_boot),
        ("/etc/machine-info", pretty and f'PRETTY_HOSTNAME="{pretty}"'),
    ):
        if text is None:
            Path(path).unlink(missing_ok=True)
        else:
            Path(path).write_text(f"{text}\n")


def _look_names(place: Path) -> object:
    files = [Path("/etc", name) for name in ("hostname", "machine-info")]
    return socket.gethostname(), [file.exists() and file.read_text() for file in files]


def _clean_names(place: Path) -> None:
    _set_names((OLD, OLD, None), place)
