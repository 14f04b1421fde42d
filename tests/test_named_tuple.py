"""Our named tuple does what the one of the standard library does."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import typing

import pytest

from reactor.named_tuple import NamedTuple

KINDS = [NamedTuple, typing.NamedTuple]


def made(base):
    """Classes with that base: of many forms, and with the names that the others have."""

    class Single(base):
        only: bytes

    class Pair(base):
        one: int
        two: str | None = None

        @property
        def both(self):
            return (self.one, self.two)

        @classmethod
        def of(cls, text):
            return cls(int(text), text)

        def __str__(self):
            return f"{self.one}-{self.two}"

    class Shown(base):
        """It has a docstring."""

        value: list[int]
        other: typing.Any = ()

        def __repr__(self):
            return "shown"

        def __eq__(self, other):
            return isinstance(other, Shown)

        def __hash__(self):
            return 7

    return Single, Pair, Shown


def class_facts(kind):
    fields = kind._fields
    return [
        kind.__name__, kind.__doc__.replace(",)", ")"), kind.__module__, kind.__bases__, type(kind), fields, kind._field_defaults, kind.__match_args__,
        list(kind.__annotations__), list(inspect.signature(kind).parameters), kind.__slots__, kind.__new__.__defaults__,
        [getattr(kind, each).__doc__ for each in fields],
    ]  # fmt: skip


def pair_facts(pair):
    one, other = pair(1), pair(one=2, two="b")
    match other:
        case pair(first, second):
            matched = (first, second)
    found = [
        repr(one), str(other), one == (1, None), one < other, hash(other), other.both, pair.of("3"), matched, len(one), one[1:], [*other],
        one._replace(two="c"), other._asdict(), pair._make("xy"), copy.copy(other), copy.deepcopy(other), other.__getnewargs__(),
        hasattr(one, "__dict__"), isinstance(one, tuple),
    ]  # fmt: skip
    calls = [
        pair,
        lambda: pair(1, 2, 3),
        lambda: pair(1, three=3),
        lambda: pair._make("xyz"),
        lambda: setattr(one, "one", 3),
        lambda: one[7],
    ]
    for wrong in calls:
        with pytest.raises((TypeError, AttributeError, IndexError)) as raised:
            wrong()
        found.append(str(raised.value).replace("made.<locals>.", ""))
    return found


def test_the_classes_are_the_same():
    ours, usual = (made(base) for base in KINDS)
    assert [class_facts(kind) for kind in ours] == [class_facts(kind) for kind in usual]


def test_the_tuples_are_the_same():
    ours, usual = (pair_facts(made(base)[1]) for base in KINDS)
    assert ours == usual
    assert repr(ours) == repr(usual)


def test_methods_of_the_body_come_first():
    for base in KINDS:
        _, _, shown = made(base)
        assert (repr(shown([1])), shown([1]) == shown([2]), hash(shown([]))) == ("shown", True, 7)


class Kept(NamedTuple):
    x: int
    y: tuple[int, ...] = ()


def test_a_tuple_can_be_pickled_and_a_class_inherited():
    class More(Kept):
        @property
        def double(self):
            return self.x * 2

    assert pickle.loads(pickle.dumps(Kept(1, (2,)))) == Kept(1, (2,))
    assert (More(4).double, repr(More(4)), More(4)._replace(x=1).double) == (8, "More(x=4, y=())", 2)
    assert typing.get_type_hints(Kept) == {"x": int, "y": tuple[int, ...]}


def test_another_name_is_not_replaced():
    with pytest.raises(TypeError, match="unexpected field names: \\['z'\\]"):
        Kept(1)._replace(z=2)


@pytest.mark.parametrize("base", KINDS)
def test_a_field_without_a_default_can_not_follow_one_with_a_default(base):
    with pytest.raises(TypeError, match="default"):

        class Wrong(base):
            x: int = 1
            y: int


def test_classes_are_made_while_garbage_is_collected():
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        kinds = [making_of(count) for count in range(30, 60)]
    finally:
        gc.set_threshold(*before)
    assert [len(kind._fields) for kind in kinds] == [*range(30, 60)]


def making_of(count):
    """A class with a number of fields that no other class has."""
    names = {f"field{number}": "int" for number in range(count)}
    return type(NamedTuple)("Made", (NamedTuple,), {"__annotations__": names, "__qualname__": "Made"})
