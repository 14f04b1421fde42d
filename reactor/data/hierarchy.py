"""The section ``hierarchy``: which overrides are looked up, in which order, and how they are merged."""

from __future__ import annotations

from typing import Any, NamedTuple

from reactor.data.problem import DataProblem
from reactor.resource.properties import did_you_mean

MERGES = ("first", "deep")


class Hierarchy(NamedTuple):
    """``order`` are keys of overrides, still with expressions. ``deep``: all that apply, else the first."""

    order: tuple[str, ...] = ("default",)
    deep: bool = False


def read_hierarchy(section: Any, problems: list[DataProblem]) -> Hierarchy:
    """Understand the section; None stands for none. What is wrong is added to ``problems``, and not used."""
    if section is None:
        return Hierarchy()
    if not isinstance(section, dict):
        hint = "write 'hierarchy: {order: [...]}', or leave it out"
        problems.append(DataProblem("R0115", ("hierarchy",), "hierarchy must be a map", hint))
        return Hierarchy(())
    return Hierarchy(_order(section, problems), _merge(section, problems) == "deep")


def _order(section: dict[str, Any], problems: list[DataProblem]) -> tuple[str, ...]:
    order = section.get("order")
    if not isinstance(order, list):
        where = ("hierarchy", "order") if "order" in section else ("hierarchy",)
        hint = "list the keys of overrides to look for, or leave the hierarchy out"
        problems.append(DataProblem("R0115", where, "hierarchy.order must be a list", hint))
        return ()
    odd = [index for index, entry in enumerate(order) if not isinstance(entry, str)]
    for index in odd:
        message = "hierarchy.order must contain only strings"
        problems.append(DataProblem("R0115", ("hierarchy", "order", index), message, "put quotes around it"))
    return () if odd else tuple(order)


def _merge(section: dict[str, Any], problems: list[DataProblem]) -> str:
    merge = section.get("merge")
    mode = str(merge or "first").lower()
    if mode not in MERGES:
        hint = did_you_mean(mode, MERGES) or f"it is {' or '.join(MERGES)}"
        problems.append(
            DataProblem("R0115", ("hierarchy", "merge"), f"unsupported merge mode: {merge}", hint)
        )
    return mode
