"""The matchers of goss, which compare a value with an expectation in YAML.

https://github.com/goss-org/goss/blob/master/docs/gossfile.md#matchers. An expected scalar must be equal, an expected
list must be contained, and a map with one key names a matcher. The value is converted to the type of the matcher: a
string to a number or to lines, a list to a string.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator

from reactor import ResourceError, gjson_get, masked_start
from reactor.resources.health.goss.patterns import check_patterns, have_patterns, regexp
from reactor.resources.health.goss.semver import satisfies, satisfies_all

_SHOWN = 200
_MOST_LINES = 1_000_000
"""The most lines of a text that are compared as a list."""
_MOST_BITS = 1024
"""The most bits of a number, as many as a float can represent. Python refuses to print much larger numbers."""


class Text(str):
    """A string that was read from a file, a command or a server. Lists of strings are patterns for its lines."""

    __slots__ = ()

    def holds(self, expected: str | list[Any]) -> bool:
        """Whether the text equals the expected string up to final newlines, or contains all items of the list."""
        if isinstance(expected, str):
            return self.rstrip("\n") == expected.rstrip("\n")
        if all(isinstance(each, str) for each in expected):
            return have_patterns(self, expected)
        return _contains_all(_items(self), expected)


@dataclass(frozen=True, slots=True)
class _Matcher:
    """``holds`` compares the value with the expectation; ``check`` raises ValueError for an invalid expectation."""

    holds: Callable[[Any, Any], bool]
    check: Callable[[Any], object]


def matches(found: Any, expected: Any) -> bool:
    """Whether ``found`` matches ``expected``, which must be valid for `check_matcher`."""
    if isinstance(expected, Mapping):
        [(name, value)] = expected.items()
        return _MATCHERS[name].holds(found, value)
    if isinstance(expected, bool):
        return found is expected
    if isinstance(expected, (int, float)):
        return _compare(found, lambda number: number == expected)
    if isinstance(found, Text):
        return found.holds(expected)
    return _contains_all(_items(found), expected) if isinstance(expected, list) else _text(found) == expected


def complaint(found: Any, expected: Any) -> str:
    """The message for values that do not match.

    It omits content of files, commands and servers: it may be secret or long.
    """
    if not isinstance(found, Text):
        return f"is {_shown(found)}, expected {_shown(expected)}"
    if isinstance(expected, list):
        expected = [each for each in expected if not matches(found, [each])]
    return f"does not match {_shown(expected)}"


def check_matcher(expected: Any) -> Any:
    """Return ``expected`` if it is a valid matcher. Raises ValueError otherwise."""
    if isinstance(expected, Mapping):
        if len(expected) != 1:
            raise ValueError("a matcher is a map of one key: write several below 'and'")
        [(name, value)] = expected.items()
        if name not in _MATCHERS:
            raise ValueError(f"there is no matcher {name!r}: there are {', '.join(_MATCHERS)}")
        _MATCHERS[name].check(value)
    elif isinstance(expected, list):
        _check_all(expected)
    elif isinstance(expected, int) and expected.bit_length() > _MOST_BITS:
        raise ValueError(f"a number has at most {_MOST_BITS} bits")
    elif not isinstance(expected, (str, int, float)):
        raise ValueError("a matcher is a string, a number, true or false, a list or a map")
    return expected


Expected = Annotated[Any, AfterValidator(check_matcher)]
"""The expectation for one property: a matcher."""


def _shown(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= _SHOWN else f"{masked_start(line, _SHOWN)}..."


# ---- conversion of values ----


def _text(found: Any) -> str:
    if isinstance(found, list):
        return "\n".join(map(_text, found))
    return str(found).lower() if isinstance(found, bool) else str(found)


def _items(found: Any) -> list[Any]:
    if isinstance(found, str):
        if found.count("\n") > _MOST_LINES:
            raise ResourceError(f"it has more than {_MOST_LINES} lines", "expect patterns: a list of strings")
        return found.split("\n")
    return list(found) if isinstance(found, (list, Mapping)) else [found]


def _versions(found: Any) -> list[Any]:
    """The items as in `_items`, without white space around each, such as the final newline of a command's output."""
    items = _items(found.strip() if isinstance(found, str) else found)
    return [item.strip() if isinstance(item, str) else item for item in items]


def _compare(found: Any, holds: Callable[[float], bool]) -> bool:
    """Compare a number; False for anything that is not a number."""
    if isinstance(found, bool):
        return False
    try:
        return holds(found if isinstance(found, (int, float)) else float(_text(found)))
    except ValueError:
        return False


def _equals(found: Any, expected: Any) -> bool:
    return found == expected if isinstance(expected, (list, Mapping)) else matches(found, expected)


def _contains_all(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether each expectation matches a different item: a maximum bipartite matching, by augmenting paths."""
    taken: dict[int, int] = {}

    def place(wanted: int, tried: set[int]) -> bool:
        for index, item in enumerate(found):
            if index not in tried and matches(item, expected[wanted]):
                tried.add(index)
                if index not in taken or place(taken[index], tried):
                    taken[index] = wanted
                    return True
        return False

    return len(expected) <= len(found) and all(place(wanted, set()) for wanted in range(len(expected)))


def _has_entries(found: Any, expected: Mapping[str, Any]) -> bool:
    return isinstance(found, Mapping) and all(
        key in found and matches(found[key], wanted) for key, wanted in expected.items()
    )


def _has_at_paths(found: Any, expected: Mapping[str, Any]) -> bool:
    """Whether the value is JSON with a matching value at each path."""
    try:
        value = json.loads(_text(found))
        return all(matches(gjson_get(value, path), wanted) for path, wanted in expected.items())
    except (ValueError, KeyError, RecursionError):
        return False


# ---- validation of expectations ----


def _check_all(expected: Any) -> None:
    if not isinstance(expected, list):
        raise ValueError("this matcher takes a list")  # noqa: TRY004 - pydantic takes ValueErrors only
    for each in expected:
        check_matcher(each)
    if all(isinstance(each, str) for each in expected):
        check_patterns(expected)


def _check_number(expected: Any) -> None:
    if isinstance(expected, bool) or not isinstance(expected, (int, float)):
        raise ValueError(f"this matcher takes a number, not {_shown(expected)}")  # noqa: TRY004


def _check_text(expected: Any) -> None:
    if not isinstance(expected, str):
        raise ValueError(f"this matcher takes a string, not {_shown(expected)}: put it in quotes")  # noqa: TRY004


def _check_regexp(expected: Any) -> None:
    _check_text(expected)
    regexp(expected)


def _check_entries(expected: Any) -> None:
    if not isinstance(expected, Mapping):
        raise ValueError("this matcher takes a map of keys and matchers")  # noqa: TRY004
    for each in expected.values():
        check_matcher(each)


def _check_paths(expected: Any) -> None:
    _check_entries(expected)
    for path in expected:
        _check_text(path)


def _check_constraint(expected: Any) -> None:
    _check_text(expected)
    satisfies("0.0.0", expected)


_MATCHERS: Final[dict[str, _Matcher]] = {
    "equal": _Matcher(_equals, lambda _: None),
    "not": _Matcher(lambda found, expected: not matches(found, expected), check_matcher),
    "and": _Matcher(lambda found, all_: all(matches(found, each) for each in all_), _check_all),
    "or": _Matcher(lambda found, any_: any(matches(found, each) for each in any_), _check_all),
    "gt": _Matcher(lambda found, bound: _compare(found, lambda it: it > bound), _check_number),
    "ge": _Matcher(lambda found, bound: _compare(found, lambda it: it >= bound), _check_number),
    "lt": _Matcher(lambda found, bound: _compare(found, lambda it: it < bound), _check_number),
    "le": _Matcher(lambda found, bound: _compare(found, lambda it: it <= bound), _check_number),
    "have-prefix": _Matcher(lambda found, start: _text(found).startswith(start), _check_text),
    "have-suffix": _Matcher(lambda found, end: _text(found).rstrip("\n").endswith(end), _check_text),
    "match-regexp": _Matcher(lambda found, it: regexp(it).search(_text(found)) is not None, _check_regexp),
    "contain-substring": _Matcher(lambda found, part: part in _text(found), _check_text),
    "contain-element": _Matcher(
        lambda found, one: any(matches(item, one) for item in _items(found)), check_matcher
    ),
    "contain-elements": _Matcher(lambda found, some: _contains_all(_items(found), some), _check_all),
    "consist-of": _Matcher(
        lambda found, all_: len(_items(found)) == len(all_) and _contains_all(_items(found), all_), _check_all
    ),
    "have-len": _Matcher(
        lambda found, length: isinstance(found, (str, list, Mapping)) and len(found) == length, _check_number
    ),
    "have-key": _Matcher(
        lambda found, key: isinstance(found, Mapping) and any(matches(each, key) for each in found),
        check_matcher,
    ),
    "have-key-with-value": _Matcher(_has_entries, _check_entries),
    "have-patterns": _Matcher(lambda found, some: have_patterns(_text(found), some), check_patterns),
    "gjson": _Matcher(_has_at_paths, _check_paths),
    "semver-constraint": _Matcher(lambda found, it: satisfies_all(_versions(found), it), _check_constraint),
}
