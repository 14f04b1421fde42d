"""The evaluator of Jet's expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from reactor.language.errors import Fault, FunctionError, LimitFault
from reactor.language.foreign_names import jet_function_meant
from reactor.language.templates.budget import Budget
from reactor.language.templates.calls import ANY, Functions, Signature, call_function, signature_of
from reactor.language.templates.jet import nodes
from reactor.language.templates.jet.operators import (
    INVALID,
    calculate,
    compare,
    equal,
    is_number,
    is_true,
    member,
    part,
    signed,
    type_for_error,
    whole,
)
from reactor.language.templates.values import json_text
from reactor.suggestions import closest

NOTHING: Final = object()
"""The piped value of a call without one."""
_LITERAL_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "bool": (bool,),
    "[]interface {}": (list, tuple),
    "map[string]interface {}": (Mapping,),
}


class CaughtError(str):
    """The variable of ``catch``: it has the error's message, and a method ``Error``."""

    __slots__ = ()


class SpecialFunction(str):
    """The name of a function that the evaluator itself implements."""

    __slots__ = ()


class Scope:
    """The variables and the blocks in scope."""

    __slots__ = ("blocks", "parent", "variables")

    def __init__(self, parent: Scope | None, blocks: Mapping[str, Any]) -> None:
        self.parent = parent
        self.variables: dict[str, Any] = {}
        self.blocks = blocks


def no_such_name(name: str, functions: Iterable[str]) -> Fault:
    """Return the error that there is no variable and none of the ``functions`` of this ``name``."""
    near = jet_function_meant(name) or closest(name, functions)
    hint = f"did you mean {near}?" if near else "declare it with :=, or test it with isset"
    return Fault(f'identifier "{name}" not available in current or parent scope', hint)


class Evaluator:
    """Evaluates expressions in the current scope."""

    def __init__(self, functions: Functions, budget: Budget) -> None:
        self._functions = functions
        self._budget = budget
        self._scope = Scope(None, {})
        self._context: Any = None
        self._missed: tuple[str, Mapping[str, Any]] | None = None
        """The last missing key, and the map that lacks it."""
        self._at = 0
        """The offset of the node that is being evaluated. Errors use it."""

    def _expect(self, *values: Any) -> None:
        """Report each of ``values`` that is missing. Raises Fault if that is an error."""
        for value in values:
            if value is None or value is INVALID:
                self._report_missing(None if value is None else self._missed)

    def _report_missing(self, missed: tuple[str, Mapping[str, Any]] | None) -> None:
        raise NotImplementedError

    def _member(self, value: Any, key: Any) -> Any:
        found = member(value, key)
        if found is INVALID:
            self._missed = (str(key), value)
        return found

    def _value(self, node: nodes.Node) -> Any:
        self._at = node.offset
        return self.expressions[node.__class__](self, node)

    # Names

    def _identifier(self, node: nodes.Identifier) -> Any:
        found = self._resolve(node.name)
        if found is NOTHING:
            raise no_such_name(node.name, self._functions)
        return found

    def _resolve(self, name: str) -> Any:
        """Return the value of a name; NOTHING if it is unknown."""
        if name == ".":
            return self._context
        scope: Scope | None = self._scope
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.parent
        if name in self.specials:
            return SpecialFunction(name)
        return self._functions.get(name, NOTHING)

    def _field(self, node: nodes.Field) -> Any:
        if node.base is None:
            found = self._member(self._context, node.name)
            if found is INVALID:
                raise Fault(
                    f"there is no field or method '{node.name}' in {type_for_error(self._context)}",
                    "test it with isset",
                )
            return found
        base = self._value(node.base)
        self._at = node.offset
        if isinstance(base, CaughtError) and node.name == "Error":
            return lambda: str.__str__(base)
        if base is INVALID and isinstance(node.base, nodes.Field):
            raise Fault(f"there is no field or method '{node.base.name}'", "test it with isset")
        if base is None or base is INVALID:
            raise Fault(
                f"there is no field or method '{node.name}' in {type_for_error(base)}", "test it with isset"
            )
        return self._member(base, node.name)

    def _index(self, node: nodes.Index) -> Any:
        base, key = self._value(node.base), self._value(node.key)
        self._at = node.offset
        return self._member(base, key)

    def _slice(self, node: nodes.Slice) -> Any:
        base = self._value(node.base)
        start = None if node.start is None else self._value(node.start)
        end = None if node.end is None else self._value(node.end)
        self._at = node.offset
        return part(base, start, end)

    # Operators

    def _binary(self, node: nodes.Binary) -> Any:
        self._budget.step()
        left = self._value(node.left)
        if node.operator in ("&&", "||"):
            decided = is_true(left) == (node.operator == "||")
            return is_true(left) if decided else is_true(self._value(node.right))
        right = self._value(node.right)
        self._at = node.offset
        if not isinstance(node.left, nodes.Nil) and not isinstance(node.right, nodes.Nil):
            self._expect(left, right)
        if node.operator in ("==", "!="):
            return equal(left, right) == (node.operator == "==")
        if node.operator[0] in "<>":
            return compare(node.operator, left, right)
        return calculate(node.operator, left, right)

    def _sign(self, node: nodes.Sign) -> Any:
        value = self._value(node.operand)
        self._at = node.offset
        return signed(node.operator, value)

    def _not(self, node: nodes.Not) -> bool:
        return not is_true(self._value(node.operand))

    def _ternary(self, node: nodes.Ternary) -> Any:
        return self._value(node.yes if is_true(self._value(node.condition)) else node.no)

    def _slot(self, _node: nodes.Slot) -> Any:
        raise Fault("'_' stands for a piped value, and there is none")

    # Calls

    def _call(self, node: nodes.Call) -> Any:
        return self._called(node, node.base, node.arguments, NOTHING)

    def _called(self, node: nodes.Node, base: nodes.Node, arguments: Sequence[nodes.Node], piped: Any) -> Any:
        """Call a function. The piped value replaces ``_``, or else is the first argument."""
        self._budget.step()
        callee = self._value(base)
        name = base.name if isinstance(base, nodes.Identifier | nodes.Field) else "the function"
        if isinstance(callee, SpecialFunction):
            return self.specials[callee](self, arguments, piped)
        if not callable(callee):
            self._at = base.offset
            raise Fault(f"{name} is {type_for_error(callee)}, not a function")
        values = self._arguments(arguments, piped)
        function = signature_of(callee)
        self._at = node.offset
        self._check_count(name, function, len(values))
        taken = [_converted(name, index, value, function.kind(index)) for index, value in enumerate(values)]
        return call_function(name, function, taken)

    def _arguments(self, arguments: Sequence[nodes.Node], piped: Any) -> list[Any]:
        slot = any(isinstance(argument, nodes.Slot) for argument in arguments)
        values = [] if piped is NOTHING or slot else [piped]
        for argument in arguments:
            takes_piped = isinstance(argument, nodes.Slot) and piped is not NOTHING
            values.append(piped if takes_piped else self._value(argument))
        return values

    @staticmethod
    def _check_count(name: str, function: Signature, count: int) -> None:
        if function.accepts(count):
            return
        if function.rest is None and function.required == len(function.kinds):
            raise Fault(f"{name} needs {function.required} arguments, but have {count}")
        raise Fault(f"{name} needs at least {function.required} arguments, but have {count}")

    # Functions that take names

    def _isset(self, arguments: Sequence[nodes.Node], _piped: Any) -> bool:
        if not arguments:
            raise Fault("unexpected number of arguments in a call to isset")
        return all(map(self._is_set, arguments))

    def _is_set(self, node: nodes.Node) -> bool:
        if isinstance(node, nodes.Identifier):
            return self._resolve(node.name) not in (NOTHING, None, INVALID)
        try:
            return self._value(node) not in (None, INVALID)
        except LimitFault:
            raise
        except FunctionError:
            return False

    def _dump(self, arguments: Sequence[nodes.Node], _piped: Any) -> str:
        """Return the variables in scope, or those that ``arguments`` name, to debug a template."""
        names = [str(self._value(argument)) for argument in arguments]
        lines = [f"{name} := {self._shown(self._resolve(name))}" for name in names or sorted(self._visible())]
        context = [] if names else [f". = {self._shown(self._context)}"]
        return "\n".join([*context, *lines])

    def _visible(self) -> set[str]:
        found: set[str] = set()
        scope: Scope | None = self._scope
        while scope is not None:
            found.update(scope.variables)
            scope = scope.parent
        return found

    @staticmethod
    def _shown(value: Any) -> str:
        return "nothing" if value in (NOTHING, INVALID) else json_text(value, raw=True)

    specials: ClassVar[dict[str, Callable[[Any, Sequence[nodes.Node], Any], Any]]] = {
        "isset": _isset,
        "dump": _dump,
    }
    expressions: ClassVar[Mapping[type, Callable[[Any, Any], Any]]] = {
        nodes.Literal: lambda _self, node: node.value,
        nodes.Nil: lambda _self, _node: INVALID,
        nodes.Slot: _slot,
        nodes.Identifier: _identifier,
        nodes.Field: _field,
        nodes.Index: _index,
        nodes.Slice: _slice,
        nodes.Binary: _binary,
        nodes.Sign: _sign,
        nodes.Not: _not,
        nodes.Ternary: _ternary,
        nodes.Call: _call,
    }


def _converted(name: str, index: int, value: Any, kind: str) -> Any:
    """Convert ``value`` for a parameter of type ``kind``: numbers become integers or floats. Raises Fault."""
    if value is INVALID:
        raise Fault(f"argument for position {index} in {name} is not a valid value", "test it with isset")
    if kind == ANY:
        return value
    if kind in ("int", "float64") and is_number(value):
        return whole(value) if kind == "int" else float(value)
    if isinstance(value, _LITERAL_KINDS.get(kind, ())):
        return value
    raise Fault(f"argument {index + 1} of {name} is {type_for_error(value)}, not {kind}")
