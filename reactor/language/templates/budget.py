"""The budget of one rendering: the limits of time, steps and characters, and how much of them was used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from reactor.language.errors import Fault, FunctionError, LimitFault, TemplateError, located

_STEPS_BETWEEN_CHECKS = 256
_ITEMS_BETWEEN_CHECKS = 4096
_HINT = "look for a loop or a recursion that does not end, or simplify the template"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one rendering."""

    seconds: float = 5.0
    steps: int = 2_000_000
    """The most nodes to evaluate: actions, operands, iterations of loops."""
    characters: int = 16_000_000
    """The most characters in all strings that the rendering makes, including intermediate results."""


DEFAULT_LIMITS = Limits()


class MemoryLimit:
    """Lifts the memory limit of this process, so that it can report an error. The worker process sets ``lift``."""

    lift: Callable[[], None] = staticmethod(lambda: None)


def _memory_error() -> LimitFault:
    """Return the error for a lack of memory. Without a memory limit, the host would run out of memory first."""
    MemoryLimit.lift()
    return LimitFault("the template needs more than 100 MB of memory", _HINT)


def located_failure(error: Exception, name: str, source: str, offset: int) -> TemplateError:
    """Return the TemplateError for a FunctionError, MemoryError or RecursionError of a rendering at ``offset``."""
    if isinstance(error, FunctionError):
        return located(error, name, source, offset)
    if isinstance(error, MemoryError):
        return located(_memory_error(), name, source, offset)
    fault = Fault("the template is nested or calls itself too deep", "end the recursion with a condition")
    return located(fault, name, source, offset)


class Budget:
    """The resources that one rendering has used so far. Raises LimitFault when that is more than its limits."""

    __slots__ = ("_characters", "_deadline", "_limits", "_steps")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._steps = 0
        self._characters = 0
        self._deadline = time.monotonic() + limits.seconds

    def step(self) -> None:
        """Charge one step of work. Checks the time at intervals."""
        self._steps += 1
        if self._steps % _STEPS_BETWEEN_CHECKS == 0:
            if self._steps > self._limits.steps:
                raise LimitFault(f"the template needs more than {self._limits.steps} steps", _HINT)
            self.check_time()

    def check_time(self) -> None:
        """Raise LimitFault if the time is used up."""
        if time.monotonic() > self._deadline:
            raise LimitFault(f"the template takes longer than {self._limits.seconds:g} s", _HINT)

    def charge_characters(self, characters: int) -> None:
        """Charge the characters of a string. Call it before making the string."""
        self._characters += characters
        if self._characters > self._limits.characters:
            raise LimitFault(f"the template makes more than {self._limits.characters} characters", _HINT)

    def charge_items(self, count: int) -> None:
        """Charge one step for each item of a list. Call it before making the list."""
        self._steps += count
        if self._steps > self._limits.steps:
            raise LimitFault(f"the template needs more than {self._limits.steps} steps", _HINT)

    def charge_value(self, value: Any) -> None:
        """Charge everything in a list or map, as characters. Call it before printing, comparing or copying the value.

        A template can make a list that contains itself, or one that contains another list twice, sixty levels deep.
        """
        waiting, seen = [value], 0
        while waiting:
            item, seen = waiting.pop(), seen + 1
            if seen % _ITEMS_BETWEEN_CHECKS == 0:
                self.check_time()
            if isinstance(item, str):
                self.charge_characters(len(item))
            elif isinstance(item, Mapping):
                self.charge_characters(2 * len(item))
                waiting += item.values()
            elif isinstance(item, list | tuple):
                self.charge_characters(len(item))
                waiting += item


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current_budget() -> Budget:
    """Return the budget of the current rendering."""
    return _current.get() or Budget(DEFAULT_LIMITS)


@contextmanager
def limited(limits: Limits) -> Iterator[Budget]:
    """Start a rendering with these limits, for the block. Inside another rendering, yield that one's budget."""
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    token = _current.set(Budget(limits))
    try:
        yield current_budget()
    finally:
        _current.reset(token)
