"""The nodes of a Go template."""

from __future__ import annotations

from dataclasses import dataclass

from reactor.language.templates.syntax import Literal, Node, Text

__all__ = [
    "Action", "Branch", "Break", "Chain", "Command", "Continue", "Dot", "Field", "If", "Literal", "Name", "Nil", "Node",
    "Pipeline", "Range", "Template", "Text", "Tree", "Variable", "With",
]  # fmt: skip


class Nil(Node):
    """``nil``."""

    __slots__ = ()


class Dot(Node):
    """``.``."""

    __slots__ = ()


@dataclass(slots=True)
class Field(Node):
    """``.a.b``."""

    names: tuple[str, ...]


@dataclass(slots=True)
class Variable(Node):
    """``$name.a.b``."""

    name: str
    names: tuple[str, ...]


@dataclass(slots=True)
class Chain(Node):
    """``(pipeline).a.b``."""

    base: Node
    names: tuple[str, ...]


@dataclass(slots=True)
class Name(Node):
    """The name of a function."""

    name: str


@dataclass(slots=True)
class Command(Node):
    """One stage of a pipeline: an operand, or a function and its arguments."""

    operands: list[Node]


@dataclass(slots=True)
class Pipeline(Node):
    """Commands, each with the previous value as its last argument, and the variables that get the final value."""

    commands: list[Command]
    variables: tuple[str, ...]
    assigns: bool
    """Whether it assigns to existing variables, with ``=``; else it declares them, with ``:=``."""


@dataclass(slots=True)
class Action(Node):
    """A pipeline. Its value is printed unless it is assigned to variables."""

    pipeline: Pipeline


@dataclass(slots=True)
class Branch(Node):
    """The base of ``if``, ``with`` and ``range``."""

    pipeline: Pipeline
    body: list[Node]
    otherwise: list[Node]


class If(Branch):
    """``if``: one of two lists of nodes."""

    __slots__ = ()


class With(Branch):
    """``with``: like ``if``, but the value becomes the dot."""

    __slots__ = ()


class Range(Branch):
    """``range``: runs its body once for each item."""

    __slots__ = ()


class Break(Node):
    """``break``: ends the loop."""

    __slots__ = ()


class Continue(Node):
    """``continue``: goes on with the next item."""

    __slots__ = ()


@dataclass(slots=True)
class Template(Node):
    """``template``: runs another template at this place, with its own dot."""

    name: str
    pipeline: Pipeline | None


@dataclass(slots=True)
class Tree:
    """A parsed source: its own nodes, the templates it defines, and the functions and templates it calls, each with an offset."""

    source: str
    root: list[Node]
    defined: dict[str, list[Node]]
    functions: dict[str, int]
    templates: dict[str, int]
