"""From the tree to what a model validates: plain maps, lists and scalars, without positions."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from reactor.manifest.nodes import BROKEN, Mapping, Sequence
from reactor.manifest.shapes import Shape
from reactor.manifest.source import Problems
from reactor.manifest.wording import shortened

_EXPRESSION = re.compile(r"(\{\{).*?\}\}|(\$\{).*?\}", re.DOTALL)


@dataclass
class Values:
    """The values of one map. ``spoilt`` are the keys whose value has been reported as unusable."""

    plain: dict[str, Any] = field(default_factory=dict)
    spoilt: set[str] = field(default_factory=set)


class ValueReader:
    """Turns maps of the tree into `Values`. An expression in a text is a problem unless ``expressions``."""

    def __init__(self, problems: Problems, *, expressions: bool = False) -> None:
        self._problems = problems
        self._expressions = expressions
        self._is_spoilt = False

    def read(self, node: Mapping, model: type[BaseModel], leave: Collection[str] = ()) -> Values:
        """The values of ``node`` as the fields of ``model`` want them, but for the keys in ``leave``."""
        values = Values()
        shape = Shape(model=model)
        for key, found in node.items():
            if key in leave:
                continue
            if found.__class__ is str and "{" not in found:
                values.plain[key] = found
                continue
            self._is_spoilt = False
            value = self._value(node, key, shape.inside(key))
            if self._is_spoilt:
                values.spoilt.add(key)
            else:
                values.plain[key] = value
        return values

    def accepts_text(self, text: str, at: int) -> bool:
        """Whether the text at ``at`` is free of expressions; if not, that is reported."""
        if self._expressions or "{" not in text or (match := _EXPRESSION.search(text)) is None:
            return True
        hint = "write the value out; expressions come with a later version"
        self._problems.add(
            f"expressions are not supported by this version: {shortened(match[0])}",
            self._offset_of(match[1] or match[2], at),
            hint,
        )
        return False

    def _value(self, node: Any, key: Any, shape: Shape) -> Any:
        value = node[key]
        if value.__class__ is str:
            if "{" in value and not self.accepts_text(value, node.value_at(key)):
                self._is_spoilt = True
            return value
        if value.__class__ is Sequence:
            return [self._value(value, index, shape.inside(index)) for index in range(len(value))]
        if value.__class__ is Mapping:
            return {inner: self._value(value, inner, shape.inside(inner)) for inner in value}
        if value is BROKEN:
            self._is_spoilt = True
        return value if value is None or value is BROKEN else shape.fit(value, node.raw(key))

    def _offset_of(self, opening: str, at: int) -> int:
        """Where the expression starts in the text written at ``at``; an alias only points to that text."""
        text = self._problems.source.text
        found = -1 if text.startswith("*", at) else text.find(opening, at)
        return at if found < 0 else found
