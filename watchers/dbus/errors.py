"""What can go wrong on a bus: ``NoBusError`` when there is nobody to ask, ``CallError`` when the answer is no."""

from __future__ import annotations


class NoBusError(ConnectionError):
    """There is no bus to connect to, or the connection has ended."""


class CallError(Exception):
    """A call was answered with an error. ``name`` is the one of the D-Bus error, ``text`` is for people."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{text} ({name})")
        self.name = name
        self.text = text
