"""Reads the small files in which the kernel and the system describe themselves."""

from __future__ import annotations


def read(path: str) -> str:
    """The text at ``path``, without white space around it. Raises OSError."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def read_if_there(path: str) -> str:
    """The same; empty when there is no such file. Raises OSError for one that can't be read: what it says is not known."""
    try:
        return read(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""


def read_if_allowed(path: str) -> str:
    """The same; empty also for those who may not read it, and for devices that do not say."""
    try:
        return read(path)
    except OSError:
        return ""


def numbers(path: str, separator: str | None = None) -> dict[str, int]:
    """The lines ``name: 42 unit`` of ``path``, such as /proc/meminfo, as numbers by name. Raises OSError."""
    found = {}
    for line in read(path).splitlines():
        name, _, rest = line.partition(separator or " ")
        value = rest.split()
        if value and value[0].isdecimal():
            found[name.strip()] = int(value[0])
    return found
