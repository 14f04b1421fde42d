"""What a provider of exec does: it makes the arguments to start from the text of a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Provider(Protocol):
    """One way to understand the text of a command."""

    def arguments(self, text: str) -> Sequence[str]:
        """The program and its arguments; empty when there is no command. Raises ValueError for bad quoting."""

    def words(self, text: str) -> Sequence[str]:
        """The words that can be told without running anything, the program first. Never raises."""
