"""The tree of facts: lazy, patient for so long, and telling what changed."""

import os
import threading
from contextlib import contextmanager

import pytest

from reactor.documents import parse_values
from reactor.facts.facts import Facts
from reactor.facts.gathering import Gatherer
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError

TIMEOUT = 0.5
"""Seconds for what answers at once to do so on a busy machine."""


class World:
    """Sources that count how often they are asked."""

    def __init__(self):
        self.asked = []
        self.host = {"info": {"hostname": "web01", "uptime": 1, "procs": 10}}
        self.network = {"default_ipv4": "192.0.2.1"}
        self.memory = {"virtual": {"free": 1}}

    def sources(self):
        return {name: self.source(name) for name in ("host", "network", "memory")}

    def source(self, name):
        def gather(_gatherer):
            self.asked.append(name)
            tree = getattr(self, name)
            return {key: dict(value) if isinstance(value, dict) else value for key, value in tree.items()}

        return gather


@pytest.fixture
def world():
    return World()


@pytest.fixture
def facts(world, tmp_path):
    return Facts(parse=parse_values, where=[str(tmp_path)], sources=world.sources())


@pytest.fixture
def fact_file(tmp_path):
    def write(text):
        path = tmp_path / "facts.yaml"
        path.write_text(text)
        path.chmod(0o644)
        return path

    return write


def test_only_what_is_read_is_gathered_and_only_once(facts, world):
    assert world.asked == []
    assert set(facts) == {"host", "network", "memory"}
    assert "host" in facts
    assert "nowhere" not in facts
    assert len(facts) == 3
    assert world.asked == []
    assert facts["host"]["info"]["hostname"] == "web01"
    assert facts["host"]["info"]["procs"] == 10
    assert world.asked == ["host"]


def test_an_unknown_fact_is_a_missing_key(facts):
    with pytest.raises(KeyError):
        facts["nowhere"]
    assert facts.get("nowhere", 1) == 1


def test_files_go_over_what_the_host_says_and_what_is_given_over_both(world, fact_file, tmp_path):
    fact_file("role: file\nhost: {info: {hostname: file, site: b}}\nmemory: 16384\ntags: [a]\n")
    given = {"host": {"info": {"hostname": "given"}}, "tags": ["b"]}
    facts = Facts(given, parse=parse_values, where=[str(tmp_path)], sources=world.sources())
    assert facts["host"] == {"info": {"hostname": "given", "site": "b", "uptime": 1, "procs": 10}}
    assert (facts["memory"], facts["role"], facts["tags"]) == (16384, "file", ["a", "b"])
    assert list(facts) == ["host", "network", "memory", "role", "tags"]


def test_what_is_wrong_with_files_is_noted(facts, fact_file):
    path = fact_file("a: [")
    assert facts.get("a") is None
    (note,) = facts.notes
    assert note.startswith(f"{path}:1:5: the file is skipped: bad YAML")


@contextmanager
def hanging():
    """A function that never returns while the block lasts, as a statvfs on a dead mount does."""
    end = threading.Event()
    try:
        yield end.wait
    finally:
        end.set()


def threads_of(job):
    return [thread for thread in threading.enumerate() if thread.name == f"facts: {job}"]


def test_what_hangs_is_left_empty_noted_and_left_alone_while_it_hangs():
    gatherer = Gatherer(TIMEOUT)
    with hanging() as wait:
        assert gatherer({"good": lambda: 1, "dead": wait}) == {"good": 1}
        assert list(gatherer.notes) == ["dead"]
        assert f"{TIMEOUT} s" in gatherer.notes["dead"]
        threads = threads_of("dead")
        assert gatherer({"dead": wait}) == {}
        assert set(threads_of("dead")) <= set(threads)
        assert all(thread.daemon for thread in threads)


def test_what_answers_again_is_asked_again():
    gatherer = Gatherer(TIMEOUT)
    with hanging() as wait:
        gatherer({"dead": wait})
    for thread in threads_of("dead"):
        thread.join()
    assert gatherer({"dead": lambda: "alive"}) == {"dead": "alive"}
    assert gatherer.notes == {}


def test_an_answer_that_comes_too_late_changes_nothing():
    gatherer = Gatherer(0.05)
    end = threading.Event()
    answer = gatherer({"late": end.wait})
    end.set()
    for thread in threads_of("late"):
        thread.join()
    assert answer == {}


@pytest.mark.parametrize("error", [OSError("no such device"), ValueError("no number"), KeyError("x")])
def test_a_source_that_fails_is_empty_and_noted(error):
    def fail():
        raise error

    gatherer = Gatherer(60)
    assert gatherer({"bad": fail, "good": lambda: 1}) == {"good": 1}
    assert gatherer.notes == {"bad": str(error)}


def test_nothing_has_changed_when_nothing_was_read(facts, world):
    world.network = {"default_ipv4": "192.0.2.99"}
    assert facts.refreshed() == set()
    assert world.asked == []


def test_an_address_that_changed_is_reported_once(facts, world):
    assert facts["network"]["default_ipv4"] == "192.0.2.1"
    assert facts.refreshed() == set()
    world.network = {"default_ipv4": "192.0.2.99"}
    assert facts.refreshed() == {"network"}
    assert facts["network"]["default_ipv4"] == "192.0.2.99"
    assert facts.refreshed() == set()


def test_a_new_hostname_is_reported_and_what_only_counts_up_is_not(facts, world):
    assert facts["host"]["info"]["uptime"] == 1
    world.host = {"info": {"hostname": "web01", "uptime": 2, "procs": 11}}
    assert facts.refreshed() == set()
    world.host = {"info": {"hostname": "db01", "uptime": 3, "procs": 12}}
    assert facts.refreshed() == {"host"}
    assert facts["host"]["info"] == {"hostname": "db01", "uptime": 1, "procs": 10}


def test_memory_stays_as_it_was_first_read(facts, world):
    assert facts["memory"]["virtual"]["free"] == 1
    world.memory = {"virtual": {"free": 2}}
    assert facts.refreshed() == set()
    assert world.asked == ["memory"]


def test_a_fact_file_that_comes_changes_and_goes_is_reported(facts, fact_file, tmp_path):
    assert facts.get("role") is None
    assert str(tmp_path / "facts.yaml") in facts.watch_paths()
    path = fact_file("role: web\nsame: 1\n")
    assert facts.refreshed() == {"role", "same"}
    fact_file("role: db\nsame: 1\n")
    assert facts.refreshed() == {"role"}
    assert facts["role"] == "db"
    path.unlink()
    assert facts.refreshed() == {"role", "same"}
    assert "role" not in facts


def test_a_source_that_hangs_later_keeps_its_last_answer():
    answers = iter([lambda: {"hostname": "web01"}])

    def host(gatherer):
        return {"info": gatherer({"host.info": next(answers, fail)}).get("host.info", {})}

    def fail():
        raise OSError("gone")

    facts = Facts(parse=parse_values, where=(), sources={"host": host})
    assert facts["host"] == {"info": {"hostname": "web01"}}
    assert facts.refreshed() == set()
    assert facts["host"] == {"info": {"hostname": "web01"}}
    assert facts.notes == ["host.info: gone"]


def test_fact_files_that_can_not_be_read_any_more_stay_as_they_were(fact_file, tmp_path):
    end = threading.Event()

    def parse(text, file):
        if text == "hang":
            end.wait()
        return parse_values(text, file)

    facts = Facts(parse=parse, where=[str(tmp_path)], sources={}, timeout=TIMEOUT)
    fact_file("role: web")
    assert facts["role"] == "web"
    fact_file("hang")
    assert facts.refreshed() == set()
    assert facts["role"] == "web"
    assert facts.notes[0].startswith("fact files: no answer")
    end.set()


@contextmanager
def silent_fact_files(directory):
    """Facts whose fact files do not answer until the block ends."""
    end = threading.Event()

    def parse(text, file):
        end.wait()
        return parse_values(text, file)

    (directory / "facts.json").write_text("{}")
    (directory / "facts.json").chmod(0o644)
    try:
        yield lambda given=None: Facts(given, parse=parse, where=[str(directory)], timeout=0.01)
    finally:
        end.set()


def test_fact_files_that_do_not_answer_are_not_listed_again_either(tmp_path, monkeypatch):
    with silent_fact_files(tmp_path) as facts:
        silent = facts()
        assert silent.get("role") is None
        monkeypatch.setattr(os, "listdir", None)
        assert str(tmp_path / "facts.d") in silent.watch_paths()


@pytest.mark.parametrize(
    ("fact", "given"),
    [("lookup('facts.role', 'none')", {}), ("Facts?.role ?? 'none'", {}), ("Facts.role", {})],
)
def test_no_default_takes_the_place_of_a_fact_that_the_fact_files_do_not_tell(tmp_path, fact, given):
    with silent_fact_files(tmp_path) as facts, pytest.raises(ManifestError, match="fact files do not answer"):
        loaded(tmp_path, fact, facts(given))


@pytest.mark.parametrize(
    ("fact", "given"),
    [("lookup('facts.role', 'none')", {"role": "web"}), ("Facts.host.info.os", {}), ("'constant'", {})],
)
def test_what_does_not_depend_on_fact_files_loads_without_their_answer(tmp_path, fact, given):
    with silent_fact_files(tmp_path) as facts:
        assert len(loaded(tmp_path, fact, facts(given)).graph.resources) == 1


def loaded(directory, fact, facts):
    manifest = directory / "m.yaml"
    manifest.write_text(f'resources: [{{exec: [{{"/bin/echo {{{{ {fact} }}}}": {{}}}}]}}]\n')
    return load(str(manifest), Inputs(facts))


def test_the_names_of_the_host_are_watched(facts):
    assert "/etc/hostname" in facts.watch_paths()
