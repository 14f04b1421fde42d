"""What kinds show of themselves: docstrings of their properties, and what they have found as plain values."""

import dataclasses
import json
from enum import Enum
from typing import Literal, NamedTuple

from pydantic import Field

from reactor.ensure.properties import properties_of
from reactor.resource.attribute_docs import attribute_docs
from reactor.resource.base import Resource
from reactor.resource.presentation import plain
from reactor.resource.property_types import Duration, Flag


class Sample(Resource, kind="sample"):
    """A kind with a property of each sort."""

    ensure: Literal["present", "absent"]
    wait: Duration | None = None
    """How long."""
    words: tuple[str, ...] = ("a",)
    """Some ``words``,
    over two lines."""
    pairs: dict[str, int] = Field(default_factory=dict)
    undocumented: Flag = True

    async def observe(self):
        return None

    def plan(self, state, *, refresh):
        return ()


class Colour(Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    colour: Colour


@dataclasses.dataclass
class Found:
    point: Point
    names: frozenset[str]
    password: str = dataclasses.field(repr=False)


def test_the_text_beneath_an_attribute_is_found():
    docs = attribute_docs(Sample)
    assert docs["wait"] == "How long."
    assert docs["words"] == "Some ``words``,\nover two lines."
    assert "undocumented" not in docs


def test_properties_are_reported_with_type_default_and_meaning():
    own = {each.name: each for each in properties_of(Sample) if each.field not in Resource.model_fields}
    assert [each.type for each in own.values()] == ["duration", "list of text", "map", "true | false"]
    assert [each.default for each in own.values()] == [None, ["a"], {}, True]
    assert own["words"].meaning == "Some `words`, over two lines."
    ensure = next(each for each in properties_of(Sample) if each.name == "ensure")
    assert (ensure.type, ensure.required, ensure.default) == ("present | absent", True, None)


def test_what_was_found_becomes_json_without_what_a_repr_leaves_out():
    found = Found(Point(1, Colour.RED), frozenset(("b", "a")), "hunter2")
    assert plain(found) == {"point": {"x": 1, "colour": "red"}, "names": ["a", "b"]}
    assert json.dumps(plain({1: [object]})).startswith('{"1": ["')


async def test_nothing_found_is_absent():
    assert await Sample(name="x", ensure="present").describe() == {"ensure": "absent"}
