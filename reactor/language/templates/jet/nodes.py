"""The nodes of a Jet template."""

from __future__ import annotations

from dataclasses import dataclass, field

from reactor.language.templates.syntax import Literal, Node, Text

__all__ = [
    "Action", "Binary", "Block", "Call", "Command", "Content", "Field", "Identifier", "If", "Include", "Index", "Literal", "Nil", "Node",
    "Not", "Parameter", "Range", "Return", "Set", "Sign", "Slice", "Slot", "Ternary", "Text", "Tree", "Try", "Yield",
]  # fmt: skip


class Nil(Node):
    """``nil``."""

    __slots__ = ()


class Slot(Node):
    """``_``: the place of the piped value, or a target whose value is discarded."""

    __slots__ = ()


@dataclass(slots=True)
class Identifier(Node):
    """A name; ``.`` is the context."""

    name: str


@dataclass(slots=True)
class Field(Node):
    """``.a`` of another expression; of the context if there is no base."""

    base: Node | None
    name: str


@dataclass(slots=True)
class Index(Node):
    """``base[key]``."""

    base: Node
    key: Node


@dataclass(slots=True)
class Slice(Node):
    """``base[start:end]``."""

    base: Node
    start: Node | None
    end: Node | None


@dataclass(slots=True)
class Call(Node):
    """``base(arguments)``."""

    base: Node
    arguments: list[Node]


@dataclass(slots=True)
class Binary(Node):
    """Two expressions and an operator."""

    operator: str
    left: Node
    right: Node


@dataclass(slots=True)
class Sign(Node):
    """``-x`` or ``+x``."""

    operator: str
    operand: Node


@dataclass(slots=True)
class Not(Node):
    """``!x``."""

    operand: Node


@dataclass(slots=True)
class Ternary(Node):
    """``condition ? yes : no``."""

    condition: Node
    yes: Node
    no: Node


@dataclass(slots=True)
class Set(Node):
    """``a, b := 1, 2``; ``declares`` is true for ``:=``, and false for ``=``."""

    targets: list[Node]
    values: list[Node]
    declares: bool


@dataclass(slots=True)
class Command(Node):
    """One stage of a pipeline. ``arguments`` is None unless it is a call: ``f: a, b`` or ``f(a, b)``."""

    base: Node
    arguments: list[Node] | None


@dataclass(slots=True)
class Action(Node):
    """An assignment, a pipeline whose value is printed, or both."""

    set: Set | None
    commands: list[Command]


@dataclass(slots=True)
class If(Node):
    """``if``, maybe with an assignment in front of the condition."""

    set: Set | None
    condition: Node
    body: list[Node]
    otherwise: list[Node]


@dataclass(slots=True)
class Range(Node):
    """``range``; if it has no names, the item is the context."""

    set: Set | None
    expression: Node
    body: list[Node]
    otherwise: list[Node]


@dataclass(slots=True)
class Try(Node):
    """``try``; ``otherwise`` has the nodes after ``catch``."""

    body: list[Node]
    name: str | None
    otherwise: list[Node]


@dataclass(slots=True)
class Parameter:
    """A parameter of a block, or an argument of a ``yield``. ``name`` is empty for an argument without a name."""

    name: str
    value: Node | None


@dataclass(slots=True)
class Block(Node):
    """``block``: defines a block, and also runs it in its place."""

    name: str
    parameters: list[Parameter]
    context: Node | None
    body: list[Node]
    content: list[Node] | None


@dataclass(slots=True)
class Yield(Node):
    """``yield``: runs a block by name."""

    name: str
    arguments: list[Parameter]
    context: Node | None
    content: list[Node] | None


@dataclass(slots=True)
class Content(Node):
    """``yield content``: runs the content that the caller passed to the block."""

    context: Node | None


@dataclass(slots=True)
class Include(Node):
    """``include``: runs another template at this place."""

    name: Node
    context: Node | None


@dataclass(slots=True)
class Return(Node):
    """``return``: sets the result of ``exec``."""

    value: Node


@dataclass(slots=True)
class Tree:
    """A parsed source: its nodes, the blocks it defines, and what it extends, imports and includes, with the offset of each."""

    source: str
    root: list[Node] = field(default_factory=list)
    blocks: dict[str, Block] = field(default_factory=dict)
    extends: tuple[str, int] | None = None
    imports: list[tuple[str, int]] = field(default_factory=list)
    includes: list[tuple[str, int]] = field(default_factory=list)
    """Those whose name is a literal."""
    called: dict[str, int] = field(default_factory=dict)
    """The names that it calls as functions, each with the offset of its first call."""
    assigned: set[str] = field(default_factory=set)
    """The names that it assigns to, or asks for with ``isset``."""
