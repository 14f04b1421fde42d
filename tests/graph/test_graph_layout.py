"""Boxes never overlap, edges lead onwards and pass around boxes, long pictures are folded."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.graph.export.layout import BOX_HEIGHT, fitted, lay_out, width_of
from reactor.graph.export.routes import Router

BOX_WIDTH = 150


def adjacency(size, pairs):
    successors = [[] for _ in range(size)]
    for first, second in sorted(set(pairs)):
        successors[first].append(second)
    return successors


dags = st.builds(
    adjacency,
    st.just(25),
    st.lists(
        st.tuples(st.integers(0, 24), st.integers(0, 24)).filter(lambda pair: pair[0] < pair[1]), max_size=60
    ),
)
star = adjacency(300, [(0, n) for n in range(1, 300)])
chain = adjacency(200, list(pairwise(range(200))))
ladder = adjacency(70, [*pairwise(range(70)), *((n, n + 9) for n in range(61))])


def corners(layout):
    """The upper left corner of each box on the page."""
    return {v: (x + spot.x, y + spot.y) for x, y, block in layout.blocks for v, spot in block.spots.items()}


def assert_apart(boxes):
    places = sorted(boxes.values())
    for number, (x, y) in enumerate(places):
        for other_x, other_y in places[number + 1 :]:
            if other_x >= x + BOX_WIDTH:
                break
            assert abs(other_y - y) >= BOX_HEIGHT


@given(dags)
def test_boxes_never_overlap(successors):
    boxes = corners(lay_out(successors, BOX_WIDTH))
    assert sorted(boxes) == list(range(25))
    assert_apart(boxes)


@pytest.mark.parametrize("successors", [star, chain, ladder, adjacency(500, [])])
def test_large_graphs_are_folded_to_a_page_that_can_be_looked_at(successors):
    layout = lay_out(successors, BOX_WIDTH)
    assert_apart(corners(layout))
    assert 0.4 < layout.width / layout.height < 4


@pytest.mark.parametrize("length", [8, 12, 20, 60])
def test_a_long_chain_runs_in_lines_and_leaves_no_empty_page(length):
    layout = lay_out(adjacency(length, list(pairwise(range(length)))), BOX_WIDTH)
    assert 1 < layout.width / layout.height < 4


def test_what_a_window_shows_at_full_size_stays_in_one_line():
    layout = lay_out(adjacency(4, list(pairwise(range(4)))), BOX_WIDTH)
    assert layout.height == BOX_HEIGHT


@given(dags)
def test_edges_lead_to_the_right_within_a_band_and_on_to_later_bands(successors):
    for _, _, block in lay_out(successors, BOX_WIDTH).blocks:
        for first, spot in block.spots.items():
            for second in successors[first]:
                assert spot.column < block.spots[second].column
                assert spot.band <= block.spots[second].band


def points(path):
    """Points along an SVG path made of M, H, L, C and Q, close enough together to hit any box in the way."""
    x = y = 0.0
    for command, text in re.findall(r"([MHLCQ])([^MHLCQ]*)", path):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", text)]
        if command == "H":
            numbers.append(y)
        stops = list(zip(numbers[::2], numbers[1::2], strict=True))
        controls = stops if command == "M" else [(x, y), *stops]
        for step in range(41):
            level = controls
            while len(level) > 1:
                level = [
                    (a + (c - a) * step / 40, b + (d - b) * step / 40) for (a, b), (c, d) in pairwise(level)
                ]
            yield level[0]
        x, y = controls[-1]


def assert_clear(block, router, first, second):
    others = [spot for vertex, spot in block.spots.items() if vertex not in (first, second)]
    for x, y in points(router.path(first, second)):
        assert not any(
            spot.x < x < spot.x + BOX_WIDTH and spot.y < y < spot.y + BOX_HEIGHT for spot in others
        )


@pytest.mark.parametrize(
    "successors",
    [adjacency(40, [(n, m) for n in range(40) for m in (n + 1, n + 3, 2 * n + 1) if n < m < 40]), ladder],
)
def test_no_edge_runs_through_a_box(successors):
    for _, _, block in lay_out(successors, BOX_WIDTH).blocks:
        router = Router(block, BOX_WIDTH)
        for first in block.spots:
            for second in successors[first]:
                assert_clear(block, router, first, second)


@given(dags)
def test_the_same_graph_is_laid_out_the_same(successors):
    assert lay_out(successors, BOX_WIDTH) == lay_out(successors, BOX_WIDTH)


def test_nothing_takes_no_room():
    assert lay_out([], BOX_WIDTH).blocks == []


@given(st.text(max_size=60), st.integers(30, 300))
def test_text_is_made_to_fit(text, room):
    assert width_of(fitted(text, room)) <= max(room, width_of(text[:1]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/etc/motd", "/etc/motd"),
        ("/etc/nginx/conf.d/default.conf", "/etc/ngin…ault.conf"),
        ("字" * 20, "字字字字…字字字字"),
    ],
)
def test_long_names_keep_both_ends(text, expected):
    assert fitted(text, 140) == expected
