"""After an edit of a long manifest, only the edited items are read. The result is that of a whole load."""

import os
import random
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reactor.cli.running import incremental_load
from reactor.cli.running.incremental_load import IncrementalLoader
from reactor.language import expression
from reactor.loading import LoadedManifest, load
from reactor.manifest.inputs import NO_INPUTS
from reactor.resource.base import Resource
from reactor.resource.declared import NO_FORM, Declared
from reactor.resource.diagnostic import Diagnostic, ManifestError

COUNT = 12


def text_of(*, head: str = "", tail: str = "", places: str = "/srv/x") -> str:
    items = (
        f"      - {places}{number}:\n          content: text {number}\n          mode: '0644'\n"
        for number in range(COUNT)
    )
    defaults = "      - defaults: {ensure: present, owner: root, group: root}\n"
    return f"{head}resources:\n  - file:\n{defaults}{''.join(items)}{tail}"


class Loads:
    """Loads a manifest incrementally, and notes what was read each time: all, or the number of edited items."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(incremental_load, "FEWEST", 1)
        for module in ("expression", "template"):  # nothing has parsed an expression yet
            monkeypatch.delitem(sys.modules, f"reactor.language.expression.{module}", raising=False)
        expression._short_template.cache_clear()
        self.path = directory / "m.yaml"
        self.refused: set[str] = set()
        self.read: list[int | str] = []
        self.loader = IncrementalLoader((str(self.path),), self._require_allowed)
        whole, part = incremental_load.load, incremental_load._read

        def load_whole(*arguments: Any) -> LoadedManifest:
            self.read.append("all")
            return whole(*arguments)

        def read_part(file: str, text: str, inputs: Any) -> list[Resource] | None:
            self.read.append(text.count("mode:"))
            return part(file, text, inputs)

        monkeypatch.setattr(incremental_load, "load", load_whole)
        monkeypatch.setattr(incremental_load, "_read", read_part)

    def _require_allowed(self, resources: Iterable[Resource]) -> None:
        if refused := self.refused.intersection(each.ref for each in resources):
            raise ManifestError([Diagnostic("R0207", ref) for ref in sorted(refused)])

    def load(self, text: str) -> LoadedManifest:
        """The result, after comparing it with that of a whole load. Clears what was read before."""
        self.path.write_text(text)
        self.read.clear()
        found = outcome(lambda: self.loader.load(NO_INPUTS))
        assert described(found) == described(outcome(lambda: load(str(self.path))))
        if isinstance(found, ManifestError):
            raise found
        return found


def outcome(loaded: Any) -> LoadedManifest | ManifestError:
    try:
        found: LoadedManifest = loaded()
    except ManifestError as error:
        return error
    return found


def described(found: LoadedManifest | ManifestError) -> Any:
    """All that a run uses of a version of the manifest."""
    if isinstance(found, ManifestError):
        return found.diagnostics
    graph = found.graph
    resources = [
        (each.ref, each.model_dump(), each.declared.place, _record(each.declared))
        for each in graph.resources.values()
    ]
    return resources, graph.edges, graph.claimed, graph.left_out, found._replace(graph=None)


def _record(declared: Declared) -> Any:
    """All of the record of a resource but its place, and the expressions themselves."""
    return declared._replace(form=NO_FORM, offset=0, deferred=None), declared.deferred is None


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loads:
    return Loads(tmp_path, monkeypatch)


def test_only_the_edited_items_are_read(loads: Loads):
    before = loads.load(text_of()).graph.resources
    assert loads.read == ["all"]
    after = loads.load(text_of().replace("text 3", "another").replace("text 7", "a third")).graph.resources
    assert loads.read == [2]
    assert [ref for ref in after if after[ref] is not before[ref]] == ["file#/srv/x3", "file#/srv/x7"]
    assert after["file#/srv/x3"].model_dump()["content"] == "another"


def test_all_is_read_when_the_manifest_is_the_same_in_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A link to the directory was switched, so relative paths lead to other files."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    link = tmp_path / "current"
    link.symlink_to("old")
    loads = Loads(link, monkeypatch)
    text = text_of().replace("content: text 3", "source: files/3")
    loads.load(text)
    link.unlink()
    link.symlink_to("new")
    found = loads.load(text).graph.resources["file#/srv/x3"]
    assert loads.read == ["all"]
    assert [*found.source_files()] == [f"{tmp_path}/new/files/3"]


def test_a_second_edit_is_compared_with_the_first(loads: Loads):
    loads.load(text_of())
    loads.load(once := text_of().replace("text 3", "another"))
    twice = once.replace("text 4", "more")
    after = loads.load(twice).graph.resources
    assert [after[f"file#/srv/x{number}"].model_dump()["content"] for number in (3, 4)] == ["another", "more"]
    assert loads.read == [1]
    loads.load(twice)
    assert loads.read == []


def test_what_a_refused_version_had_stays_refused(loads: Loads):
    loads.load(text_of())
    loads.refused.add("file#/srv/x12")
    loads.path.write_text(refused := text_of(tail="      - /srv/x12:\n          mode: '0644'\n"))
    for text in (refused, refused.replace("text 3", "another")):
        loads.path.write_text(text)
        with pytest.raises(ManifestError):
            loads.loader.load(NO_INPUTS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mode: '0644'", "mode: '0600'"),
        ("content: text 3", "source: /srv/x4"),
        ("content: text 3", "content: &x text"),
        ("content: text 3", "validate: /usr/bin/test {path}"),
        ("/srv/x3:", "/srv/x03:"),
        ("/srv/x3:", " /srv/x3:"),
        ("content: text 3", "content: '{{ 1 + 1 }}'"),
        ("content: text 3", r'content: "\x7b{ 1 + 1 }}"'),
        ("content: text 3", "content: [no text]"),
        ("content: text 3", "content: 'never closed"),
        ("content: text 3", "{content: text 3}"),
        ("content: text 3", "contents: text 3"),
    ],
    ids=[
        "what the graph may depend on",
        "another file",
        "an anchor",
        "a program",
        "a name",
        "a column",
        "an expression",
        "an expression in escapes",
        "a list",
        "a quote",
        "a map",
        "a misspelt property",
    ],
)
def test_what_may_concern_others_is_loaded_as_a_whole(loads: Loads, old: str, new: str):
    loads.load(text_of())
    text = text_of().replace(old, new)
    assert text != text_of()
    outcome(lambda: loads.load(text))
    assert loads.read[-1] == "all"


@pytest.mark.parametrize(
    "text",
    [
        text_of(head="data: &data {a: 1}\n"),
        text_of(head="data: {a: 1}\n"),
        text_of(tail="  - exec:\n      - /bin/true:\n"),
        text_of(tail="ordering: manifest\n"),
        text_of(tail="      - /srv/more:\n          content: '{{ 1 + 1 }}'\n"),
        text_of(tail="      - /srv/more:\n          for_each: [a]\n"),
    ],
    ids=["anchors", "data", "a second list", "an ordered list", "an expression", "a loop"],
)
def test_edits_of_other_manifests_are_loaded_as_a_whole(loads: Loads, text: str):
    outcome(lambda: loads.load(text))
    outcome(lambda: loads.load(text.replace("text 3", "another")))
    assert loads.read == ["all"]


def test_a_file_that_another_resource_claims_too_is_loaded_as_a_whole(loads: Loads, tmp_path: Path):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").symlink_to("one")
    text = text_of(places=f"{tmp_path}/one/x", tail=f"      - {tmp_path}/other/x3: {{mode: '0644'}}\n")
    outcome(lambda: loads.load(text.replace("text 3", "another")))
    outcome(lambda: loads.load(text))
    assert loads.read[-1] == "all"


def test_random_edits_give_what_a_whole_load_gives(loads: Loads):
    chosen, parts = random.Random(1), 0
    text = text_of()
    for _ in range(250):
        text = edited(text, chosen) if chosen.random() < 0.6 else text_of()
        outcome(lambda text=text: loads.load(text))
        parts += loads.read != ["all"]
    assert parts > 50


def edited(text: str, chosen: random.Random) -> str:
    """``text`` with one of its lines replaced, removed, repeated or moved, or with a character more or less."""
    lines = text.splitlines(keepends=True)
    at, other = chosen.randrange(len(lines)), chosen.randrange(len(lines))
    match chosen.randrange(9):
        case 0:
            lines[at] = lines[other]
        case 1:
            del lines[at]
        case 2:
            lines.insert(at, lines[other])
        case 3:
            lines[at], lines[other] = lines[other], lines[at]
        case 4:
            lines[at] = lines[at].replace("text", chosen.choice(["|", "'it", "a: b", "- x", "# y", "x\\n"]))
        case 5:
            column = chosen.randrange(len(lines[at]))
            lines[at] = lines[at][:column] + chosen.choice("'\"#:-&*|>{}[]\t \n%?x1") + lines[at][column:]
        case _:
            lines[at] = lines[at].replace("text", f"text {chosen.randrange(100)}")
    return "".join(lines)


def test_a_pipe_is_read_once(tmp_path: Path):
    os.mkfifo(path := tmp_path / "pipe")
    with ThreadPoolExecutor() as threads:
        writer = threads.submit(path.write_bytes, b"resources: \xff\n")
        with pytest.raises(ManifestError, match="not UTF-8"):
            IncrementalLoader((str(path),), lambda _: None).load(NO_INPUTS)
        writer.result(10)
