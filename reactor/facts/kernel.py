"""Reads the small files in which the kernel and the system describe themselves."""

from __future__ import annotations


def read(path: str) -> str:
    """The text at ``path``, without white space around it; empty when it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def numbers(path: str, separator: str | None = None) -> dict[str, int]:
    """The lines ``name: 42 unit`` of ``path``, such as /proc/meminfo, as numbers by name."""
    found = {}
    for line in read(path).splitlines():
        name, _, rest = line.partition(separator or " ")
        value = rest.split()
        if value and value[0].isdecimal():
            found[name.strip()] = int(value[0])
    return found
