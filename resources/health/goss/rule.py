"""What all rules of goss have in common: properties that expect something of what is found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import trio
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reactor import Flag, ResourceError, in_thread
from reactor.resources.health.goss.matchers import Text, complaint, matches

MILLISECOND = 0.001
"""In seconds."""

_SHORT = 4096
"""Characters that may be matched where the event loop runs; more of them take a thread."""

Milliseconds = Annotated[int, Field(gt=0)]
"""goss writes times as whole numbers."""


def readable_by(read: Callable[[str], object]) -> AfterValidator:
    """The check of a text that ``read`` must understand; it raises ValueError for what it does not."""

    def check(text: str) -> str:
        read(text)
        return text

    return AfterValidator(check)


@contextmanager
def answer_within(timeout: Milliseconds) -> Iterator[None]:
    """Raises ResourceError when the block takes longer."""
    try:
        with trio.fail_after(timeout * MILLISECOND):
            yield
    except trio.TooSlowError:
        raise ResourceError(f"no answer within {timeout} ms") from None


def hyphenated(name: str) -> str:
    """The name of a property as goss spells it."""
    return name.replace("_", "-")


class Rule(BaseModel, ABC):
    """One thing to look at, named by its key. A property that is not given expects nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=hyphenated)

    title: str = ""
    """What the rule is for."""
    meta: Mapping[str, Any] | None = None
    """Notes for others; means nothing here."""
    skip: Flag = False
    """Leave the rule out."""

    def check_key(self, key: str) -> None:
        """Raises ValueError when ``key`` is not what the rule can look for, and nothing else is given."""

    @abstractmethod
    async def find(self, key: str) -> Mapping[str, Any]:
        """What there is, by the name of the property that expects something of it.

        For a thing that is not there, this is all that is said. Raises OSError or ResourceError when it can't be told.
        """

    async def failures(self, key: str) -> list[str]:
        """What is not as expected, a sentence each. Raises as `find` does."""
        found = await self.find(key)
        if sum(len(value) for value in found.values() if isinstance(value, Text)) <= _SHORT:
            return self._complaints(found)
        return await in_thread(self._complaints, found, abandon_on_cancel=True)

    def _complaints(self, found: Mapping[str, Any]) -> list[str]:
        return [
            f"{hyphenated(name)} {complaint(value, expected)}"
            for name, value in found.items()
            if (expected := getattr(self, name)) is not None and not matches(value, expected)
        ]
