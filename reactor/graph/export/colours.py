"""The colours of states, edges and pages, for exported graphs and for the live page, on light and dark backgrounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reactor.graph.graph import EdgeKind


class Appearance(NamedTuple):
    """The colours of a vertex on light and dark backgrounds, and the dashes of its border."""

    fill: str
    border: str
    dark_fill: str
    dark_border: str
    dashes: str = ""


STATES = {
    "ok": Appearance("#e3f5e9", "#23783f", "#15301f", "#4cb872"),
    "changed": Appearance("#fff1cc", "#8a5f00", "#3a2d0b", "#e0ac3a"),
    "would_change": Appearance("#fff8e6", "#8a5f00", "#2b2513", "#e0ac3a", "6 3"),
    "failed": Appearance("#fde2e1", "#bd2823", "#3f1817", "#f2665f"),
    "blocked": Appearance("#f6e4f2", "#9a3b86", "#331a2e", "#d277bf", "6 3"),
    "waiting": Appearance("#ece8fb", "#6d55c4", "#28233d", "#a793f0", "2 3"),
    "skipped": Appearance("#eeeff1", "#666c75", "#25282d", "#8b929c", "2 3"),
    "unknown": Appearance("#ffffff", "#666c75", "#1c1f24", "#8b929c", "2 3"),
}
"""The appearance of each state. The state is also written in the vertex, so that the colours are not needed."""

PLAIN = Appearance("#f4f7fc", "#5b7bb0", "#1d2430", "#7d9fd6")
"""The appearance of a vertex when no states are given."""


class Theme(NamedTuple):
    """The colours of everything except the boxes of resources."""

    page: str
    panel: str
    line: str
    text: str
    faint: str
    accent: str
    edges: dict[EdgeKind, str]


LIGHT = Theme(
    page="#ffffff",
    panel="#f6f7f9",
    line="#d9dde3",
    text="#1b1f24",
    faint="#5c6570",
    accent="#2563c9",
    edges={
        EdgeKind.REQUIRE: "#6a7482",
        EdgeKind.SUBSCRIBE: "#2563c9",
        EdgeKind.AUTOMATIC: "#8a94a2",
        EdgeKind.AFTER: "#8a94a2",
        EdgeKind.NOTIFY: "#8a94a2",
    },
)
DARK = Theme(
    page="#14171c",
    panel="#1b1f26",
    line="#323842",
    text="#e4e8ee",
    faint="#9aa4b1",
    accent="#6ea3f5",
    edges={
        EdgeKind.REQUIRE: "#98a3b2",
        EdgeKind.SUBSCRIBE: "#6ea3f5",
        EdgeKind.AUTOMATIC: "#768191",
        EdgeKind.AFTER: "#768191",
        EdgeKind.NOTIFY: "#768191",
    },
)


def css_variables() -> str:
    """The rules that define all these colours as CSS variables, such as ``--failed-border`` and ``--edge-require``."""
    light = {state: (appearance.fill, appearance.border) for state, appearance in STATES.items()}
    dark = {state: (appearance.dark_fill, appearance.dark_border) for state, appearance in STATES.items()}
    at_night = f"@media (prefers-color-scheme: dark) {{ :root {{ {' '.join(_variables(DARK, dark))} }} }}"
    return f":root {{ {' '.join(_variables(LIGHT, light))} }}\n{at_night}\n"


def _variables(theme: Theme, boxes: dict[str, tuple[str, str]]) -> Iterator[str]:
    for name in ("page", "panel", "line", "text", "faint", "accent"):
        yield f"--{name}: {getattr(theme, name)};"
    for kind, colour in theme.edges.items():
        yield f"--edge-{kind}: {colour};"
    for state, (fill, border) in boxes.items():
        name = state.replace("_", "-")
        yield f"--{name}-fill: {fill}; --{name}-border: {border};"
