"""Inventories in Ansible's YAML format: groups with ``hosts``, ``vars`` and ``children``."""

from __future__ import annotations

from typing import Any, NoReturn

import yaml
from yaml import MappingNode, Node, ScalarNode
from yaml.constructor import ConstructorError, SafeConstructor

from reactor.errors import Place
from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.inventory_builder import ALL, UNGROUPED, InventoryBuilder

_DEEPEST = 50
_MOST_NODES = 2_000_000
_STANDARD = "tag:yaml.org,2002:"
_DOES_NOT_FIT = (LookupError, AttributeError, OverflowError)
"""The errors of PyYAML for a value that does not fit its tag, such as ``!!bool x``."""


def read_yaml(text: str, file: str, builder: InventoryBuilder) -> None:
    """Add the inventory ``text``, of the file ``file``, to ``builder``. Raises InventoryError with the place."""
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file, 1, 1)
        raise InventoryError(f"the YAML is not valid: {error.problem}", place=place) from error
    except yaml.YAMLError as error:
        raise InventoryError(f"the YAML is not valid: {error}", place=Place(file, 1, 1)) from error
    except RecursionError as error:
        raise InventoryError("the YAML is nested too deeply", place=Place(file, 1, 1)) from error
    if root is not None:
        reader = _Reader(file, builder)
        reader.check(root)
        for name, key, value in reader.items(root):
            reader.group(name, key, value, ALL)


class _Reader:
    def __init__(self, file: str, builder: InventoryBuilder) -> None:
        self._file = file
        self._builder = builder
        self._sizes: dict[int, int] = {}

    def check(self, node: Node, depth: int = 0) -> int:
        """Refuse cycles, alias bombs, and values that only Ansible can read. Return the number of nodes."""
        if depth > _DEEPEST:
            self._fail(node, "the YAML is nested too deeply, or an alias holds itself")
        if (known := self._sizes.get(id(node))) is not None:
            return known
        if not node.tag.startswith(_STANDARD):
            self._fail(node, f"a value has the tag {node.tag}, which reactor can't read", _hint(node.tag))
        below = [] if isinstance(node, ScalarNode) else list(node.value)
        if isinstance(node, MappingNode):
            below = [each for pair in node.value for each in pair]
        size = 1 + sum(self.check(each, depth + 1) for each in below)
        if size > _MOST_NODES:
            self._fail(node, "the inventory is too large")
        self._sizes[id(node)] = size
        return size

    def items(self, node: Node) -> list[tuple[str, Node, Node]]:
        """The keys and values of a map, which may be empty."""
        if isinstance(node, ScalarNode) and node.value in ("", "null", "~"):
            return []
        if not isinstance(node, MappingNode):
            self._fail(node, "a map is expected here", "write 'name:' on each line, indented")
        for key, _ in node.value:
            if not isinstance(key, ScalarNode):
                self._fail(key, "a name is expected here")
        return [(key.value, key, value) for key, value in node.value]

    def group(self, name: str, key: Node, node: Node, parent: str) -> None:
        """Add a group with all that is below it."""
        place = self._place(key)
        self._builder.group(name, place)
        if name not in (ALL, UNGROUPED):
            self._builder.child(parent, name, place)
        for part, part_key, value in self.items(node):
            if part == "hosts":
                for pattern, host_key, variables in self.items(value):
                    own = self._values(variables)
                    self._builder.host(
                        pattern, name if name != ALL else UNGROUPED, own, self._place(host_key)
                    )
            elif part == "vars":
                self._builder.variables(name, self._values(value))
            elif part == "children":
                for child, child_key, below in self.items(value):
                    self.group(child, child_key, below, name)
            else:
                self._fail(part_key, f"a group has no {part!r}", "a group has hosts, vars and children")

    def _values(self, node: Node) -> dict[str, Any]:
        if not self.items(node):
            return {}
        constructor = SafeConstructor()
        try:
            found = constructor.construct_document(node)
        except (ConstructorError, ValueError) as error:
            self._fail(node, f"the values can't be read: {getattr(error, 'problem', error)}")
        except _DOES_NOT_FIT:
            self._fail(node, "a value does not fit its tag, as in !!bool x", "remove the tag")
        return {str(name): value for name, value in found.items()}

    def _place(self, node: Node) -> Place:
        return Place(self._file, node.start_mark.line + 1, node.start_mark.column + 1)

    def _fail(self, node: Node, message: str, hint: str | None = None) -> NoReturn:
        raise InventoryError(message, hint, place=self._place(node))


def _hint(tag: str) -> str | None:
    if tag in ("!vault", "!vault-encrypted"):
        return "let Ansible decrypt it: --inventory-command 'ansible-inventory -i FILE --list'"
    return None
