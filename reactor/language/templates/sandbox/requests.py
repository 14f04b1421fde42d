"""The requests of a worker process to its parent: sources, function calls, and values of lazy maps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from reactor.language.errors import Fault, FunctionError
from reactor.language.expression.scope import TextMap
from reactor.language.templates.budget import current_budget
from reactor.language.templates.go.functions.times import freeze_clock
from reactor.language.templates.sandbox.channel import Channel
from reactor.language.values import ListWithMethods

_STEPS: Final = 100
"""The cost of a request in steps: it takes as long as evaluating this many nodes."""


class AbortedError(BaseException):
    """The parent aborted the rendering. No template or engine may catch this."""


class HostRequests:
    """Sends requests to the parent. Caches sources and values of maps until `forget`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._sources: dict[str, str | None] = {}
        self._read: dict[tuple[str, ...], Any] = {}
        self.functions: dict[str, Callable[..., Any]] = {}
        """The functions by name. Each calls the function of that name in the parent."""

    def context(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the context from a message of the parent. Sets the functions and the clock."""
        values = [TextMap(value) if empty else value for value, empty in message["values"]]
        freeze_clock(message["moment"])
        maps = {name: LazyMap(self, [name]) for name in message["maps"]}
        self.functions = {name: self._function(name, taken) for name, taken in message["functions"].items()}
        return {**{name: values[index] for name, index in message["names"].items()}, **maps}

    def forget(self) -> None:
        """Clear the cache, because another rendering begins."""
        self._sources.clear()
        self._read.clear()

    def load(self, name: str) -> str | None:
        """Return the source of a template; None if there is no such template."""
        if name not in self._sources:
            self._sources[name] = self.ask({"load": name})
        return self._sources[name]

    def read(self, path: list[str], key: str) -> Any:
        """Return the value of ``key`` in the map at ``path``. Raises KeyError."""
        place = (*path, key)
        if place not in self._read:
            self._read[place] = self.ask({"read": path, "key": key})
        found = self._read[place]
        if not found:
            raise KeyError(key)
        return found[0]

    def ask(self, question: dict[str, Any]) -> Any:
        """Return the response to a request.

        Raises FunctionError or ValueError as the parent reports, and AbortedError.
        """
        current_budget().charge_items(_STEPS)
        try:
            self._channel.send(question, default=_plain)
        except (TypeError, RecursionError) as error:
            raise Fault(f"these values can't be given to a function: {error}") from error
        answer, texts = self._channel.receive()
        if "fault" in answer:
            raise FunctionError(*answer["fault"])
        if "mistake" in answer:
            raise ValueError(answer["mistake"])
        if "aborted" in answer:
            raise AbortedError
        return texts[0] if texts else self.decoded(answer["value"])

    def decoded(self, encoded: list[Any]) -> Any:
        """Decode a value that `reactor.language.templates.sandbox.responses` encoded."""
        what, value = encoded
        if what == "map":
            return LazyMap(self, value)
        if what == "methods":
            return ListWithMethods(*value)
        return [self.decoded(item) for item in value] if what == "list" else value

    def _function(self, name: str, taken: list[list[Any]]) -> Callable[..., Any]:
        """Return a function with the same parameters as the one in the parent."""

        def call(*arguments: Any, **named: Any) -> Any:
            current_budget().charge_value([*arguments, *named.values()])
            return self.ask({"call": name, "arguments": arguments, "named": named})

        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    parameter,
                    inspect._ParameterKind(kind),  # noqa: SLF001 - the enumeration has no public name
                    default=None if has_default else inspect.Parameter.empty,
                    annotation=annotation,
                )
                for parameter, kind, has_default, annotation in taken
            ]
        )
        return call


def _plain(value: Any) -> Any:
    """Convert a value that is not JSON."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    str(value)  # an undefined value raises its error here
    raise TypeError(f"there is {type(value).__name__} in them")


class LazyMap(Mapping[str, Any]):
    """A map in the parent process. It requests the value of each key when it is first read."""

    def __init__(self, questions: HostRequests, path: list[str]) -> None:
        self._questions = questions
        self._path = path

    def __getitem__(self, key: str) -> Any:
        if not isinstance(key, str):
            raise KeyError(key)
        return self._questions.read(self._path, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._questions.ask({"keys": self._path}))

    def __len__(self) -> int:
        return len(self._questions.ask({"keys": self._path}))

    def __repr__(self) -> str:
        return repr(dict(self))
