"""docs/live-page.md says what the code does: its tables are compared with the answers."""

import re
from pathlib import Path

from page_worlds import paged, reading
from starlette.routing import Route

from reactor.control.broadcast import LIMIT
from reactor.testing.scripted import scripted
from reactor.ui import event_buffer, page_stream
from reactor.ui.application import application
from reactor.ui.details import RECENT

PAGE = (Path(__file__).parents[2] / "docs" / "live-page.md").read_text()


def first_cells(heading):
    """The names in the first column of the table below a heading."""
    section = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


async def test_every_field_of_the_answers_is_documented(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        graph = (await world.get("/graph")).json()
        resource = (await world.get("/resource?ref=scripted%23a")).json()
    assert first_cells("The graph") == graph.keys()
    assert first_cells("How a resource stands") == graph["status"]["scripted#a"].keys()
    assert first_cells("A resource") == resource.keys()


async def test_every_event_of_the_stream_is_documented(tmp_path):
    a = scripted("a")
    async with paged(tmp_path, a) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            world.reload(a, scripted("b"))
            await page.until("run", lambda run: run["generation"] == 2 and run["converged"])
            heard = {name for name, _, _ in page.heard}
    assert first_cells("The stream") == heard


async def test_every_route_is_documented(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        routes = application(world.page, print).application.routes
    served = {
        (max(route.methods - {"HEAD"}), route.path.replace("{name}", "NAME"))
        for route in routes
        if isinstance(route, Route)
    }
    assert set(re.findall(r"^\| `(GET|POST) ([^`?]*)[^`]*` ", PAGE, re.MULTILINE)) == served


def test_the_numbers_in_the_text_are_those_of_the_code():
    assert LIMIT == 4 << 20
    assert (page_stream.BEAT, page_stream.MOST, event_buffer.KEPT, event_buffer.QUIET, RECENT) == (
        0.1,
        48,
        1000,
        100,
        20,
    )
    for words in (
        "4 MiB",
        "At most 48 clients may be",
        "last\nthousand",
        "only 100 of a tenth",
        "ten times a second",
        "last twenty",
    ):
        assert words in PAGE
