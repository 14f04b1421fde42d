"""The kind ``keyboard``: the layout of the keyboard, of the console and of graphical sessions."""

from reactor.resources.keyboard.kind import Keyboard

__all__ = ["Keyboard"]
