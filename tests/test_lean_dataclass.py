"""A lean data class does what one of the standard library does."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from reactor.lean_dataclass import lean_dataclass

OPTIONS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"order": True},
    {"repr": False},
    {"eq": False},
    {"unsafe_hash": True},
]


def plain():
    class Point:
        x: int
        y: object = 2
        hidden: int = field(default=3, repr=False)
        ignored: int = field(default=4, compare=False)
        unhashed: int = field(default=5, hash=False)

    return Point


def with_own_methods():
    class Point:
        x: int

        def __repr__(self):
            return "mine"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

    return Point


def with_own_eq():
    class Point:  # noqa: PLW1641 - Python gives it a __hash__ of None
        x: int

        def __eq__(self, other):
            return True

    return Point


def unhashable():
    class Point:
        x: int
        __hash__ = None

    return Point


def derived():
    @dataclass(frozen=True)
    class Base:
        x: int

    class Point(Base):
        y: int = 1

    return Point


def behaviour(make, options, shape):
    """What a class of this shape does, as values that can be compared."""
    try:
        made = make(**options)(shape()) if options else make(shape())
    except TypeError as error:
        return str(error)
    one, same, other = made(x=1), made(x=1), made(x=2)
    found = [
        repr(one).replace(f"{id(one):x}", "").replace("0x", ""), one == same, one != other, one == (1, 2, 3, 4, 5), one.__eq__(1),
        made.__match_args__, [each.name for each in fields(made)], replace(one, x=2) == other,
        hasattr(made, "__slots__"), made.__hash__ is None, made.__name__, made.__qualname__,
    ]  # fmt: skip
    if made.__hash__ is not None and "eq" not in options:
        found += [hash(one) == hash(same), hash(one) == hash(other), hash(one)]
    try:
        one.x = 5
    except FrozenInstanceError as error:
        found.append(str(error))
    return found


def without_address(found):
    return [each.partition(" at ")[0] if isinstance(each, str) else each for each in found]


@pytest.mark.parametrize("shape", [plain, with_own_methods, with_own_eq, unhashable, derived])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_does_what_a_data_class_does(options, shape):
    real = without_address(behaviour(dataclass, options, shape))
    assert without_address(behaviour(lean_dataclass, options, shape)) == real


def test_an_object_that_contains_itself_can_be_shown():
    @lean_dataclass
    class Node:
        next: object = None

    node = Node()
    node.next = node
    assert repr(node).endswith(".Node(next=...)")


def test_pydantic_uses_it_and_all_others_the_real_one():
    code = """
import sys, dataclasses
before = dataclasses, dataclasses.dataclass
import reactor
from pydantic import Field, BaseModel, StringConstraints
import annotated_types
print(annotated_types.Gt.__eq__.__module__, StringConstraints.__hash__.__module__)
print(before == (sys.modules["dataclasses"], dataclasses.dataclass))
print(annotated_types.Gt(1), annotated_types.Gt(1) == annotated_types.Gt(1), len({annotated_types.Gt(1), annotated_types.Gt(1)}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "reactor.lean_dataclass reactor.lean_dataclass\nTrue\nGt(gt=1) True 1\n"
