"""docs/events.md says of every event exactly what the code does."""

import dataclasses
import re
from pathlib import Path

from reactor.console.jsonlines import diagnostic_record
from reactor.console.run_header import message_record, metrics_record, selection_record, warning_record
from reactor.engine.events import Cause, Event, Result
from reactor.ensure.sessions import Ensured
from reactor.graph.graph import Graph
from reactor.graph.select import Selection
from reactor.resource.diagnostic import Diagnostic
from reactor.resource.watch import WatchState

assert issubclass(Ensured, Event)  # imported to be among the subclasses
PAGE = Path(__file__).parents[2] / "docs" / "events.md"


def documented() -> dict[str, list[str]]:
    sections = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return {
        section.partition("\n")[0]: [
            name
            for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
            for name in re.findall(r"`(\w+)`", row)
        ]
        for section in sections
    }


def test_every_engine_event_is_documented_field_by_field():
    pages = documented()
    for event in Event.__subclasses__():
        fields = [field.name for field in dataclasses.fields(event) if field.name != "time"]
        assert pages[event.__name__.lower()] == fields


def test_the_records_of_the_command_are_documented_field_by_field():
    pages = documented()
    selection = Selection(Graph({}, []), [], [])
    for record in (
        diagnostic_record(Diagnostic("R0107", "x")),
        selection_record(selection, 1),
        message_record("x"),
        metrics_record("x"),
        warning_record("x"),
    ):
        name = record.pop("event")
        assert pages[name] == list(record)


def test_nothing_is_documented_that_does_not_exist():
    ours = {"diagnostic", "valid", "selection", "message", "metrics", "warning"}
    assert set(documented()) == {event.__name__.lower() for event in Event.__subclasses__()} | ours


def test_the_words_of_each_enumeration_are_on_the_page():
    words = {*Result, *WatchState, *(word for cause in Cause for word in cause.words)}
    page = PAGE.read_text()
    assert [word for word in words if f"`{word}`" not in page] == []
