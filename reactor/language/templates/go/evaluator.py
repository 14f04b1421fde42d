"""Evaluates the pipelines of a Go template: operands, fields, variables and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from reactor.language.errors import Fault
from reactor.language.templates.budget import Budget
from reactor.language.templates.calls import ANY, Functions, Signature, call_function, signature_of
from reactor.language.templates.go import nodes
from reactor.language.templates.missing_values import MissingValues, no_such_key, no_value
from reactor.language.templates.values import go_type
from reactor.language.values import method_text


class Missing:
    """The type of `MISSING`, the value of a missing key. It prints as ``<no value>``."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing()
_NOTHING: Final = object()
"""The piped value of the first command in a pipeline: there is none."""
LOGIC: Final = frozenset(("and", "or"))
_TESTS: Final = frozenset((
    "all", "any", "coalesce", "deepEqual", "default", "empty", "kindIs", "kindOf", "not", "ternary", "typeIs", "typeOf",
))  # fmt: skip
"""The functions that test for missing values: in their arguments, a missing value is no error."""
_DEFAULT: Final = "test what may be missing first: with if, with, or default"
_NOT_NIL: Final = frozenset(("string", "int", "float64", "bool"))
_EXPECTED: Final = {"string": "string", "int": "integer", "float64": "float", "bool": "bool"}
_CLASSES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "int": (int,),
    "float64": (float,),
    "bool": (bool,),
    "[]interface {}": (list, tuple),
    "map[string]interface {}": (Mapping,),
}


class Evaluator:
    """Evaluates pipelines, with the variables in scope."""

    def __init__(self, functions: Functions, budget: Budget, missing: MissingValues) -> None:
        self._functions = functions
        self._budget = budget
        self._missing = missing
        self._place = ("", "")
        """The name and the source of the current template."""
        self._missed: tuple[str, Mapping[str, Any]] | None = None
        """The last missing key, and the map that lacks it."""
        self._variables: list[list[Any]] = []
        self._at = 0
        """The offset of the node that is being evaluated. Errors use it."""

    def _report_missing(self) -> None:
        """Report that a required value is missing. Raises Fault if that is an error."""
        fault = no_value(_DEFAULT) if self._missed is None else no_such_key(*self._missed, _DEFAULT)
        self._missed = None
        self._missing.report(fault, *self._place, self._at)

    def _assign(self, name: str, value: Any, pipeline: nodes.Pipeline) -> None:
        if not pipeline.assigns:
            self._variables.append([name, value])
            return
        for variable in reversed(self._variables):
            if variable[0] == name:
                variable[1] = value
                return
        raise Fault(f"undefined variable: {name}")

    def _pipeline(self, pipeline: nodes.Pipeline, dot: Any) -> Any:
        value: Any = _NOTHING
        self._missed = None
        for command in pipeline.commands:
            value = self._command(command, dot, value)
            if value is None:
                value = MISSING
        for name in pipeline.variables:
            self._assign(name, value, pipeline)
        return value

    def _command(self, command: nodes.Command, dot: Any, piped: Any) -> Any:
        self._budget.step()
        first, *arguments = command.operands
        self._at = first.offset
        if isinstance(first, nodes.Name):
            return self._call(first, arguments, dot, piped)
        if isinstance(first, nodes.Nil):
            raise Fault("nil is not a command")
        value = self._operands[first.__class__](self, first, dot)
        if arguments or piped is not _NOTHING:
            self._at = first.offset
            raise Fault(_no_function(first), "an operand stands alone; arguments are for functions")
        return value

    # Operands

    def _field(self, node: nodes.Field, dot: Any) -> Any:
        return self._fields(dot, node.names)

    def _variable(self, node: nodes.Variable, _dot: Any) -> Any:
        for name, value in reversed(self._variables):
            if name == node.name:
                return self._fields(value, node.names) if node.names else value
        raise Fault(f"undefined variable: {node.name}")

    def _chain(self, node: nodes.Chain, dot: Any) -> Any:
        if isinstance(node.base, nodes.Nil):
            raise Fault("indirection through explicit nil")
        base = self._operands[node.base.__class__](self, node.base, dot)
        self._at = node.offset
        return self._fields(base, node.names)

    def _fields(self, value: Any, names: Sequence[str]) -> Any:
        for name in names:
            if value.__class__ is dict or isinstance(value, Mapping):
                try:
                    value = value[name]
                except KeyError:
                    value, self._missed = MISSING, (name, value)
            elif value is None:
                raise Fault(
                    f"nil pointer evaluating interface {{}}.{name}", "test it first: if, with or default"
                )
            elif (text := method_text(value, name)) is not None:
                value = text
            elif value is not MISSING:
                raise Fault(f"can't evaluate field {name} in type {go_type(value)}")
        return value

    # Calls

    def _call(self, node: nodes.Name, arguments: Sequence[nodes.Node], dot: Any, piped: Any) -> Any:
        if node.name in LOGIC:
            return self._logic(node.name, arguments, dot, piped)
        function = signature_of(self._functions[node.name])
        count = len(arguments) + (piped is not _NOTHING)
        if not function.accepts(count):
            raise Fault(f"wrong number of args for {node.name}: want {_wanted(function)} got {count}")
        wanted = node.name not in _TESTS and not any(isinstance(each, nodes.Nil) for each in arguments)
        values = [
            self._argument(argument, function.kind(index), dot, wanted=wanted)
            for index, argument in enumerate(arguments)
        ]
        if piped is not _NOTHING:
            self._expect(piped, wanted=wanted)
            values.append(_checked(piped, function.kind(len(values))))
        self._at = node.offset
        return call_function(node.name, function, values)

    def _logic(self, name: str, arguments: Sequence[nodes.Node], dot: Any, piped: Any) -> Any:
        """Evaluate ``and`` or ``or``, which stop at the first operand that decides the result."""
        if not arguments and piped is _NOTHING:
            raise Fault(f"wrong number of args for {name}: want at least 1 got 0")
        value: Any = MISSING
        for argument in arguments:
            value = self._argument(argument, ANY, dot, wanted=False)
            if bool(value) == (name == "or"):
                return value
        return value if piped is _NOTHING else piped

    def _expect(self, value: Any, *, wanted: bool) -> None:
        if wanted and (value is None or value is MISSING):
            self._report_missing()

    def _argument(self, node: nodes.Node, kind: str, dot: Any, *, wanted: bool) -> Any:
        """Return the value of an argument. If it is ``wanted`` but missing, report that."""
        self._at = node.offset
        if isinstance(node, nodes.Literal):
            return _literal(node, kind)
        if isinstance(node, nodes.Nil):
            if kind in _NOT_NIL:
                raise Fault(f"cannot assign nil to {kind}")
            return _checked(None, kind)
        value = self._operands[node.__class__](self, node, dot)
        self._at = node.offset
        self._expect(value, wanted=wanted)
        return _checked(value, kind)

    _operands: ClassVar[Mapping[type, Callable[[Evaluator, Any, Any], Any]]] = {
        nodes.Literal: lambda _self, node, _dot: node.value,
        nodes.Dot: lambda _self, _node, dot: dot,
        nodes.Field: _field,
        nodes.Variable: _variable,
        nodes.Chain: _chain,
        nodes.Name: lambda self, node, dot: self._call(node, (), dot, _NOTHING),
        nodes.Pipeline: _pipeline,
    }


def _checked(value: Any, kind: str) -> Any:
    """Return ``value`` if a parameter of type ``kind`` accepts it. Raises Fault otherwise."""
    if value is MISSING:
        if kind in _NOT_NIL:
            raise Fault(
                f"invalid value; expected {kind}", "there is no such key; default gives another value"
            )
        value = None
    if kind == ANY:
        return value
    if value is None and kind not in _NOT_NIL:
        return [] if kind.startswith("[]") else {}
    if not isinstance(value, _CLASSES[kind]) or (kind == "int" and isinstance(value, bool)):
        raise Fault(f"wrong type for value; expected {kind}; got {go_type(value)}")
    return value


def _literal(node: nodes.Literal, kind: str) -> Any:
    value = node.value
    if kind == "float64" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind != ANY and (not isinstance(value, _CLASSES[kind]) or (kind == "int" and isinstance(value, bool))):
        raise Fault(f"expected {_EXPECTED.get(kind, kind)}; found {node.source}")
    return value


def _wanted(function: Signature) -> str:
    return str(len(function.kinds)) if function.rest is None else f"at least {function.required}"


def _no_function(node: nodes.Node) -> str:
    """Return the reason why ``node`` can't have an argument."""
    names = getattr(node, "names", ())
    if names:
        return f"{names[-1]} is not a method but has arguments"
    shown = node.source if isinstance(node, nodes.Literal) else getattr(node, "name", "this")
    return f"can't give argument to non-function {shown}"
