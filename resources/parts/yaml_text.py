"""Changes one key of a YAML text, and leaves every other character as it is.

The marks of the parser say where a key and its value are in the text. The edited text is parsed again, and must differ
in that key alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml
from yaml import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode
from yaml.constructor import ConstructorError, SafeConstructor

from reactor import ResourceError
from reactor.resources.parts.document import Document
from reactor.resources.parts.values import (
    MISSING,
    MOST_LEVELS,
    agrees,
    damaged,
    nested,
    newline_of,
    refuse_large,
    too_deep,
)
from reactor.resources.parts.yaml_values import block_lines, flow

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def edit_yaml(document: Document, keys: Sequence[str], value: Any, path: str) -> Document | None:
    """The document in which the keys lead to ``value``, or to nothing if it is `MISSING`; None if they do already.

    Raises ResourceError if the text is not one YAML document, or the key can't be changed alone.
    """
    root = _root(document, path)
    found = _value_at(root, keys, path)
    if agrees(found, value):
        return None
    try:
        after = document.with_text(_Edit(document.text, path).edited(root, keys, value))
        new = _root(after, path)
        if not (_is_same_but(root, new, keys) and agrees(_value_at(new, keys, path), value)):
            raise damaged(path, keys)
    except RecursionError as error:
        raise too_deep(path) from error
    return after


def _root(document: Document, path: str) -> Node | None:
    """The top node; None if there is nothing but comments."""
    if "yaml" not in document.parsed:
        try:
            refuse_large(document, path)
            _refuse_deep(document.text, path)
            document.parsed["yaml"] = list(yaml.compose_all(document.text, Loader=_LOADER))
        except (yaml.YAMLError, UnicodeEncodeError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            where = "" if mark is None else f", at line {mark.line + 1}, column {mark.column + 1}"
            what = getattr(error, "problem", None) or type(error).__name__
            raise ResourceError(f"{path} is not YAML{where}: {what}", "correct the file") from error
    found: list[Node] = document.parsed["yaml"]
    if len(found) > 1:
        hint = "manage the whole file with the kind file"
        raise ResourceError(f"{path} has several YAML documents, and only one can be edited", hint)
    return None if not found or _is_empty(found[0]) else found[0]


def _refuse_deep(text: str, path: str) -> None:
    """Raise ResourceError for too many levels: the composer of libyaml takes stack for each, and would crash."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_LEVELS:
                raise ResourceError(
                    f"{path} has more than {MOST_LEVELS} levels", "manage it with the kind file"
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _is_empty(node: Node) -> bool:
    """Whether nothing is written where the value would be."""
    is_scalar = isinstance(node, ScalarNode)
    return is_scalar and node.start_mark.index == node.end_mark.index and node.value == ""


def _pairs(node: MappingNode, key: str) -> list[tuple[ScalarNode, Node]]:
    """The key and its value, as often as the mapping has the key."""
    return [pair for pair in node.value if isinstance(pair[0], ScalarNode) and pair[0].value == key]


def _value_at(root: Node | None, keys: Sequence[str], path: str) -> Any:
    node = root
    for number, key in enumerate(keys):
        if node is None or _is_empty(node):
            return MISSING
        if not isinstance(node, MappingNode):
            place = ".".join(keys[:number]) or "the top"
            words = f"{path}: {place} is not a mapping, so it can't have the key {key}"
            raise ResourceError(words, "correct the key, or the file")
        pairs = _pairs(node, key)
        if len(pairs) > 1:
            first, second = (repeated.start_mark.line + 1 for repeated, _ in pairs[:2])
            words = f"{path}: the key {key} occurs twice in one mapping, on lines {first} and {second}"
            raise ResourceError(words, "remove one of them")
        if not pairs:
            return MISSING
        node = pairs[0][1]
    try:
        return None if node is None else _constructed(node)
    except ConstructorError as error:
        raise ResourceError(
            f"{path}: {'.'.join(keys)} can't be read: {error.problem}", "correct it"
        ) from error


def _constructed(node: Node) -> Any:
    return SafeConstructor().construct_document(node)


def _is_same_but(before: Node | None, after: Node | None, keys: Sequence[str]) -> bool:
    """Whether both trees are equal but for what is below the keys."""
    ours, theirs = _others(before, keys), _others(after, keys)
    if ours is None or theirs is None or len(ours) != len(theirs):
        return False
    seen: set[tuple[int, int]] = set()
    for (key, one), (name, other) in zip(ours, theirs, strict=True):
        if not (_equal(key, name, seen) and _equal(one, other, seen)):
            return False
    if len(keys) == 1:
        return True
    return _is_same_but(_below(before, keys[0]), _below(after, keys[0]), keys[1:])


def _others(node: Node | None, keys: Sequence[str]) -> list[tuple[Node, Node]] | None:
    if node is None or _is_empty(node):
        return []
    if not isinstance(node, MappingNode):
        return None
    return [pair for pair in node.value if getattr(pair[0], "value", None) != keys[0]]


def _below(node: Node | None, key: str) -> Node | None:
    pairs = _pairs(node, key) if isinstance(node, MappingNode) else []
    return pairs[0][1] if pairs else None


def _equal(one: Node, other: Node, seen: set[tuple[int, int]]) -> bool:
    """Whether two trees are equal. A pair is compared once, since aliases may name one node very often."""
    if (id(one), id(other)) in seen:
        return True
    seen.add((id(one), id(other)))
    if type(one) is not type(other) or one.tag != other.tag:
        return False
    if isinstance(one, ScalarNode):
        return bool(one.value == other.value)
    if len(one.value) != len(other.value):
        return False
    if isinstance(one, SequenceNode):
        return all(_equal(a, b, seen) for a, b in zip(one.value, other.value, strict=True))
    return all(
        _equal(a, b, seen) and _equal(c, d, seen)
        for (a, c), (b, d) in zip(one.value, other.value, strict=True)
    )


def _end_of(node: Node) -> int:
    """The position of the last character of the node. The marks of blocks go on to the next token."""
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(node.end_mark.index)


class _Edit:
    """One change of a text."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        self._newline = newline_of(text)

    def edited(self, root: Node | None, keys: Sequence[str], value: Any) -> str:
        """The text after the change. Raises ResourceError for an alias, which stands for another place."""
        if root is None:
            return self._appended(block_lines(nested(keys, value)))
        node, parent = root, None
        for depth, key in enumerate(keys):
            if not isinstance(node, MappingNode):  # nothing is written there
                return self._replaced(parent, nested(keys[depth:], value))
            if not (pairs := _pairs(node, key)):
                return self._added(node, parent, key, nested(keys[depth + 1 :], value))
            pair = pairs[0]
            if pair[1].start_mark.index < pair[0].end_mark.index:
                words = f"{self._path}: {'.'.join(keys[: depth + 1])} is an alias of another value"
                raise ResourceError(words, "change it where it is written")
            holder, parent, node = (node, parent), (pair[0], pair[1], node), pair[1]
        if value is MISSING:
            return self._without(*holder, parent)
        return self._replaced(parent, value)

    def _appended(self, lines: Sequence[str]) -> str:
        text = self._text
        lead = "" if not text or text.endswith("\n") else self._newline
        return text + lead + "".join(f"{line}{self._newline}" for line in lines)

    def _replaced(self, pair: Any, value: Any) -> str:
        """The text with another value for a pair of a key and a value in a mapping."""
        key, old, mapping = pair
        text = self._text
        colon = text.index(":", key.end_mark.index) + 1
        if _is_empty(old):
            new = self._inline_or_block(value, key.start_mark.column, is_flow=bool(mapping.flow_style))
            return f"{text[:colon]}{new}{text[colon:]}"
        start, end = old.start_mark.index, self._stop(old)
        is_block = isinstance(old, CollectionNode) and not old.flow_style
        if is_block and isinstance(value, dict) and value and old.start_mark.column <= key.start_mark.column:
            # A list may begin where its key does.
            head = text[:colon] + text[colon:start].split("\n")[0].rstrip()
            return head + self._inline_or_block(value, key.start_mark.column, is_flow=False) + text[end:]
        if is_block and isinstance(value, (dict, list)) and value:
            indent = " " * old.start_mark.column
            return text[:start] + f"{self._newline}{indent}".join(block_lines(value)) + text[end:]
        if is_block:
            comment = text[colon:start].split("\n")[0].strip()
            tail = f"  {comment}" if comment.startswith("#") else ""
            return f"{text[:colon]} {flow(value)}{tail}{text[end:]}"
        style = old.style if isinstance(old, ScalarNode) else None
        return text[:start] + flow(value, style) + text[end:]

    def _stop(self, node: Node) -> int:
        """The end of the text of the node, without the blank lines behind a block."""
        end = _end_of(node)
        return len(self._text[:end].rstrip()) if self._text[:end].endswith(("\n", " ")) else end

    def _inline_or_block(self, value: Any, column: int, *, is_flow: bool) -> str:
        if is_flow or not isinstance(value, (dict, list)) or not value:
            return f" {flow(value)}"
        indent = self._newline + " " * (column + 2)
        return indent + indent.join(block_lines(value))

    def _added(self, mapping: MappingNode, parent: Any, key: str, value: Any) -> str:
        text = self._text
        if not mapping.value:
            return self._first(mapping, parent, key, value)
        first, last = mapping.value[0][0], mapping.value[-1][1]
        if mapping.flow_style:
            end = _end_of(last)
            return f"{text[:end]}, {flow(key)}: {flow(value)}{text[end:]}"
        indent = " " * first.start_mark.column
        place = text.find("\n", self._stop(last))
        lines = f"{self._newline}{indent}".join(block_lines({key: value}))
        if place == -1:
            return f"{text}{self._newline}{indent}{lines}"
        return f"{text[: place + 1]}{indent}{lines}{self._newline}{text[place + 1 :]}"

    def _first(self, mapping: MappingNode, parent: Any, key: str, value: Any) -> str:
        """The text with a key in an empty mapping, which is written ``{}``."""
        if parent is not None and not parent[2].flow_style:
            start, end = mapping.start_mark.index, mapping.end_mark.index
            colon = self._text.index(":", parent[0].end_mark.index) + 1
            if not self._text[colon:start].strip():
                new = self._inline_or_block({key: value}, parent[0].start_mark.column, is_flow=False)
                return f"{self._text[:colon]}{new}{self._text[end:]}"
        start = mapping.start_mark.index + 1
        return f"{self._text[:start]}{flow(key)}: {flow(value)}{self._text[start:]}"

    def _without(self, mapping: MappingNode, above: Any, pair: Any) -> str:
        key, old, _ = pair
        text = self._text
        names = [name for name, _ in mapping.value]
        number = names.index(key)
        if len(names) == 1:
            return self._replaced(above, {}) if above is not None else self._emptied(mapping, key, old)
        if mapping.flow_style:
            if number + 1 < len(names):
                return text[: key.start_mark.index] + text[names[number + 1].start_mark.index :]
            return text[: _end_of(mapping.value[number - 1][1])] + text[_end_of(old) :]
        return self._without_lines(key, old)

    def _emptied(self, mapping: MappingNode, key: Node, old: Node) -> str:
        """The text without the only key of the file."""
        if mapping.flow_style:
            return self._text[: key.start_mark.index] + self._text[_end_of(old) :]
        return self._without_lines(key, old)

    def _without_lines(self, key: Node, old: Node) -> str:
        text = self._text
        colon = text.index(":", key.end_mark.index) + 1
        start = text.rfind("\n", 0, key.start_mark.index) + 1
        if text[start : key.start_mark.index].strip():
            words = f"{self._path}: the key {key.value} shares its line with something else"
            raise ResourceError(words, "remove it by hand")
        end = text.find("\n", max(colon, self._stop(old)))
        return text[:start] + ("" if end == -1 else text[end + 1 :])
