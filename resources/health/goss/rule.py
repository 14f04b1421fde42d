"""The base class of the rules of goss: its properties are expectations for the values that are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import trio
from pydantic import BaseModel, ConfigDict, Field

from reactor import Flag, ResourceError, in_thread
from reactor.resources.health.goss.matchers import Text, complaint, matches

MILLISECOND = 0.001
"""In seconds."""

_SHORT = 4096
"""Characters that are matched in the event loop; more are matched in a thread."""

Milliseconds = Annotated[int, Field(gt=0)]
"""A time in whole milliseconds, as in goss."""


@contextmanager
def answer_within(timeout: Milliseconds) -> Iterator[None]:
    """Raise ResourceError when the block takes longer than ``timeout``."""
    try:
        with trio.fail_after(timeout * MILLISECOND):
            yield
    except trio.TooSlowError:
        raise ResourceError(f"no answer within {timeout} ms") from None


def hyphenated(name: str) -> str:
    """The name of a property with hyphens, as in goss."""
    return name.replace("_", "-")


class Rule(BaseModel, ABC):
    """One rule. Its key names what it examines. A property that is not given expects nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=hyphenated)

    title: str = ""
    """The purpose of the rule."""
    meta: Mapping[str, Any] | None = None
    """Notes, which are ignored."""
    skip: Flag = False
    """Skip the rule."""

    def check_key(self, key: str) -> None:
        """Raise ValueError when ``key`` is invalid for the rule, and no property overrides it."""

    @abstractmethod
    async def find(self, key: str) -> Mapping[str, Any]:
        """The values that are found, by the name of the property that has the expectation.

        If the subject does not exist, that is the only value. Raises OSError or ResourceError when it can't be found
        out.
        """

    async def failures(self, key: str) -> list[str]:
        """A sentence for each value that is not as expected. Raises as `find` does."""
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
