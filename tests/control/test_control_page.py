"""docs/control.md says what the code does: its tables are compared."""

import re
from pathlib import Path

from control_worlds import controlled

from reactor.control.application import application
from reactor.control.run_handle import RunHandle
from reactor.testing.scripted import scripted

PAGE = (Path(__file__).parents[2] / "docs" / "control.md").read_text()


def fields(heading):
    section = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    return [
        name
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]


async def test_every_field_of_the_answers_is_documented(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world:
        status = await world.status(everything=True)
    assert set(fields("run")) == set(status["run"])
    assert set(fields("resources")) == set(status["resources"][0])


async def test_every_route_is_documented(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world:
        control = world.control
        subject = RunHandle(
            world.engine, control.status_table, control.broadcast, control.pause_controller, world.tally
        )
        served = {
            (max(route.methods - {"HEAD"}), route.path.partition("{")[0])
            for route in application(subject, print).routes
        }
    documented = {
        (method, path)
        for method, path in re.findall(r"^\| `(GET|POST) ([^`?]*?)(?:REF|\?.*)?` ", PAGE, re.MULTILINE)
    }
    assert documented == served
