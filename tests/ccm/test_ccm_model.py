"""Manifests made at random go as CCM would have them go, by a short account of its rules."""

import random
from itertools import count
from typing import NamedTuple

import trio
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reactor import Result, RunOptions, load
from reactor.engine.events import Checked
from reactor.testing.story import converge_once

TOP = "manifest.yaml"
GOOD, BAD = "/bin/true", "/bin/false"
UNMET = (Result.FAILED, Result.BLOCKED)
NEVER_TRIED = (Result.BLOCKED, Result.SKIPPED)


class Writer:
    """Writes a manifest and its children, down to the third level. ``files`` are their options, by name."""

    def __init__(self, chance):
        self.files = {}
        self._chance = chance
        self._refs = []
        self._numbers = count()
        self.write(TOP, 0)

    def write(self, file, depth):
        self.files[file] = {"fail_on_error": self._chance.random() < 0.4, "resources": []}
        for _ in range(self._chance.randint(1, 5)):
            kind = "apply" if depth < 2 and self._chance.random() < 0.3 else "exec"
            name = f"{next(self._numbers)}.yaml"
            properties = self._common(name) if kind == "apply" else self._exec(name)
            known = list(self._refs)
            if kind == "apply":
                self.write(name, depth + 1)
            if "control" in properties:
                self._refs = known  # what is in it is not there
            self._refs.append(f"{kind}#{name}")
            self.files[file]["resources"].append({kind: properties})

    def _common(self, name):
        wanted = {
            "require": self._some_refs(),
            "health_checks": [{"command": self._chance.choice([GOOD, BAD])}] if self._one_in(6) else None,
            "control": {"if": "false"} if self._one_in(10) else None,
        }
        return {"name": name, **{key: value for key, value in wanted.items() if value}}

    def _exec(self, name):
        wanted = {
            "subscribe": self._some_refs(),
            "unless": GOOD if self._one_in(3) else None,
            "refreshonly": self._one_in(3),
        }
        command = BAD if self._one_in(4) else GOOD
        chosen = {key: value for key, value in wanted.items() if value}
        return {**self._common(name), "command": command, **chosen}

    def _some_refs(self):
        return (
            self._chance.choices(self._refs, k=self._chance.randint(1, 2))
            if self._refs and self._one_in(3)
            else None
        )

    def _one_in(self, number):
        return self._chance.randrange(number) == 0


class Event(NamedTuple):
    """How CCM says that a resource ended; what failed by its health alone may have changed."""

    result: Result
    changed: bool = False


class Ccm:
    """Goes through a manifest as CCM does: one after the other, each looking back at how those before it ended.

    Raises KeyError for a reference to what was never reached: there CCM gives up.
    """

    def __init__(self, files):
        self.events = {}
        self._files = files
        self.apply(TOP)

    def apply(self, file):
        """Returns the events of what is in the file, as far as it is gone through."""
        events = []
        for entry in self._files[file]["resources"]:
            ((kind, properties),) = entry.items()
            event = self._attempt(kind, properties)
            self.events[f"{kind}#{properties['name']}"] = event
            events.append(event)
            if event.result is Result.FAILED and self._files[file]["fail_on_error"]:
                break
        return events

    def _attempt(self, kind, properties):
        if "control" in properties:
            return Event(Result.SKIPPED)
        required = [self.events[ref] for ref in properties.get("require", ())]
        if any(event.result in UNMET for event in required):
            return Event(Result.BLOCKED)
        succeeds, changed = self._child(properties) if kind == "apply" else self._exec(properties)
        succeeds &= all(check["command"] == GOOD for check in properties.get("health_checks", ()))
        return Event(Result.FAILED if not succeeds else Result.CHANGED if changed else Result.OK, changed)

    def _child(self, properties):
        inside = self.apply(properties["name"])
        succeeds = not any(event.result in UNMET for event in inside)
        return succeeds, succeeds and any(event.changed for event in inside)

    def _exec(self, properties):
        sources = [self.events[ref] for ref in properties.get("subscribe", ())]
        runs = any(event.changed for event in sources) or not {"unless", "refreshonly"} & properties.keys()
        succeeds = not runs or properties["command"] == GOOD
        return succeeds, runs and succeeds


def lay_out(files, directory):
    for name, options in files.items():
        (directory / name).write_text(yaml.safe_dump({"ccm": options}))
    return load(str(directory / TOP))


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_every_resource_ends_as_there_and_in_the_same_order(tmp_path_factory, seed):
    files = Writer(random.Random(seed)).files
    try:
        theirs = Ccm(files).events
    except KeyError:
        assume(False)
    program = lay_out(files, tmp_path_factory.mktemp("model"))
    options = RunOptions(fail_fast=program.settings.fail_fast)
    _, story = trio.run(lambda: converge_once(graph=program.graph, options=options))
    ours = {ref: story.result(ref) for ref in program.graph.resources}
    assert {ref: ours[ref] for ref in theirs} == {ref: event.result for ref, event in theirs.items()}
    assert all(ours[ref] in NEVER_TRIED for ref in ours.keys() - theirs.keys())
    tried = dict.fromkeys(event.ref for event in story.events if isinstance(event, Checked))
    assert list(tried) == [ref for ref, event in theirs.items() if event.result not in NEVER_TRIED]
