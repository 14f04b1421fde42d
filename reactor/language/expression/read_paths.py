"""Which paths of the roots an expression may read, known without running it. What makes secrets spread, soundly."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reactor.language.expression.nodes import Call, Constant, Member, Node, Root, children

Path = tuple[str | None, ...]
"""Keys from the root on, the root in lower case; None stands for any key."""

_PLAIN_KEY = re.compile(r"[^.|#@*?\\{}\[\]!\"']+")


def reads(node: Node) -> Iterator[Path]:
    """The paths that ``node`` may read; each stands for everything under it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Root):
            yield (None,) if node.name == "$env" else (node.name.lower(),)
        elif isinstance(node, Member):
            yield from _chain(node, waiting)
        else:
            waiting.extend(children(node))
            if isinstance(node, Call) and node.name == "lookup":
                yield _looked_up(node.arguments[0])


def meet(path: Path, secret: tuple[str, ...]) -> bool:
    """Whether one of the two lies on the way to the other."""
    return all(
        key is None or key == other
        for key, other in zip(path, (secret[0].lower(), *secret[1:]), strict=False)
    )


def _chain(node: Node, waiting: list[Node]) -> Iterator[Path]:
    """The path of ``Data.a[b].c``; keys that are computed read something themselves."""
    keys: list[str | None] = []
    while isinstance(node, Member):
        constant = isinstance(node.key, Constant)
        keys.append(str(node.key.value) if isinstance(node.key, Constant) else None)
        if not constant:
            waiting.append(node.key)
        node = node.value
    if not isinstance(node, Root):
        waiting.append(node)
    elif node.name == "$env":
        yield _root(keys.pop()), *reversed(keys)
    else:
        yield node.name.lower(), *reversed(keys)


def _root(key: str | None) -> str | None:
    return None if key is None else key.lower()


def _looked_up(argument: Node) -> Path:
    """The plain keys at the beginning of a gjson path."""
    if not isinstance(argument, Constant) or not isinstance(argument.value, str):
        return (None,)
    keys: list[str | None] = []
    for part in argument.value.split("."):
        if not _PLAIN_KEY.fullmatch(part):
            break
        keys.append(part)
    return tuple(keys) or (None,)
