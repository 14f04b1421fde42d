"""The messages to a worker process: the context, and responses to its requests.

Requests are not trusted. A request for a function, source or map that the context does not have gets an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.scope import TextMap
from reactor.language.templates.calls import MISTAKES, Functions
from reactor.language.templates.engine import Loader
from reactor.language.values import ListWithMethods

Answer = tuple[dict[str, Any], list[str]]


class HostResponses:
    """Provides a context and functions to a worker process. ``moment`` freezes the clock of templates.

    Keep the object while context and functions stay the same: then a process needs the context only once.
    """

    def __init__(
        self, context: Mapping[str, Any], functions: Functions, moment: datetime | None = None
    ) -> None:
        self._functions = functions
        self._moment = moment
        self._plain: dict[str, Any] = {}
        self._maps: dict[str, Mapping[Any, Any]] = {}
        for name, value in context.items():
            if isinstance(value, Mapping) and type(value) not in (dict, TextMap):
                self._maps[name] = value
            else:
                self._plain[name] = value

    def introduction(self) -> dict[str, Any]:
        """Return the message that has the context.

        A value with two names is sent once. Maps other than dicts are not sent: the process requests their values.
        """
        distinct = {id(value): value for value in self._plain.values()}
        places = {identity: index for index, identity in enumerate(distinct)}
        return {
            "values": [[value, isinstance(value, TextMap)] for value in distinct.values()],
            "names": {name: places[id(value)] for name, value in self._plain.items()},
            "maps": [*self._maps],
            "moment": None if self._moment is None else self._moment.timestamp(),
            "functions": {name: _parameters(function) for name, function in self._functions.items()},
        }

    def answer(self, question: Mapping[str, Any], load: Loader) -> Answer:
        """Return the response to a request. Raises exceptions of a function that are not `MISTAKES`."""
        try:
            value = self._value(question, load)
        except FunctionError as error:
            return {"fault": [error.message, error.hint]}, []
        except MISTAKES as error:
            return {"mistake": str(error)}, []
        return ({}, [value]) if isinstance(value, str) else ({"value": value}, [])

    def _value(self, question: Mapping[str, Any], load: Loader) -> Any:
        if "load" in question:
            found = load(str(question["load"]))
            return found if isinstance(found, str) else ["plain", None]
        if "call" in question:
            value = self._functions[question["call"]](*question["arguments"], **question["named"])
            return value if isinstance(value, str) else _encoded(value, None)
        path: list[Any] = question["read"] if "read" in question else question["keys"]
        found_map = self._map(path)
        if "keys" in question:
            return ["plain", list(found_map)]
        try:
            value = found_map[question["key"]]
        except KeyError:
            return ["plain", []]
        return ["list", [_encoded(value, [*path, question["key"]])]]

    def _map(self, path: list[Any]) -> Mapping[Any, Any]:
        found: Any = self._maps[path[0]]
        for key in path[1:]:
            found = found[key]
        return found if isinstance(found, Mapping) else {}


def _encoded(value: Any, path: list[Any] | None) -> list[Any]:
    """Encode ``value``. A map at ``path`` that is no dict is not sent: the process requests its keys one by one."""
    if path is not None and isinstance(value, Mapping) and type(value) is not dict:
        return ["map", path]
    if path is not None and isinstance(value, list | tuple):
        return ["list", [_encoded(item, [*path, index]) for index, item in enumerate(value)]]
    return ["methods", [value, dict(value.methods)]] if type(value) is ListWithMethods else ["plain", value]


def _parameters(function: Any) -> list[list[Any]]:
    """Return the parameters of ``function``: name, kind, whether it has a default, and its annotation."""
    return [
        [each.name, int(each.kind), each.default is not each.empty, _written(each.annotation)]
        for each in inspect.signature(function).parameters.values()
    ]


def _written(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


def plain(value: Any) -> Any:
    """Convert a value of a manifest that is not JSON."""
    return dict(value) if isinstance(value, Mapping) else str(value)
