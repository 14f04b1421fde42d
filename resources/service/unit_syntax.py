"""Writes unit files of systemd. Nothing in a value has a special meaning for systemd, unless it is meant."""

from __future__ import annotations

from collections.abc import Iterable

from reactor.resources.managed_header import HEADER


def unit_file(*sections: tuple[str, Iterable[str]]) -> str:
    """A unit file of these sections, each with its lines."""
    blocks = ("".join((f"[{name}]\n", *(f"{line}\n" for line in lines))) for name, lines in sections)
    return HEADER + "\n".join(blocks)


def plain(text: str) -> str:
    """A value that is no list of words."""
    return text.replace("%", "%%")


def quoted(text: str) -> str:
    """One word of a list of words."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\t", "\\t")
    return f'"{escaped}"'


def span(seconds: float) -> str:
    """A time span."""
    return f"{seconds:.0f}s" if seconds == int(seconds) else f"{seconds * 1000:.0f}ms"
