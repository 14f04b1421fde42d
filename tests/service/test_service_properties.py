"""What a service may be called, what of its properties goes together, and what follows from them for others."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from reactor import load
from reactor.resource.diagnostic import ManifestError
from reactor.resources.file import File
from reactor.resources.service import Service
from reactor.testing.story import graph_of
from reactor.watchers.units import is_unit_name, object_path, template_of

OWNERS = {"owner": "root", "group": "root", "mode": "0644"}


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("nginx", "nginx.service"),
        ("nginx.service", "nginx.service"),
        ("nginx.socket", "nginx.socket"),
        ("backup.timer", "backup.timer"),
        ("srv-data.mount", "srv-data.mount"),
        (r"srv-my\x2ddata.mount", r"srv-my\x2ddata.mount"),
        ("app@1", "app@1.service"),
        ("app@a.b:c~d+e_f-g.service", "app@a.b:c~d+e_f-g.service"),
        ("org.example.App", "org.example.App.service"),
        ("socket", "socket.service"),
        ("x" * 247, "x" * 247 + ".service"),
    ],
)
def test_a_name_is_that_of_a_unit(name, unit):
    assert Service(name=name).unit == unit


@pytest.mark.parametrize("character", list(";|&$`<>(){}[]*?!#'\"\\\n \t/,=%^é\0"))
def test_a_name_with_a_character_that_is_not_allowed_is_refused(character):
    for name in (f"a{character}b", f"{character}a", f"a{character}"):
        with pytest.raises(ValidationError, match="service name contains"):
            Service(name=name)


@pytest.mark.parametrize("name", ["app@", "app@.service", "@1", ".service", "x" * 248, r"a\x2", r"a\xZZ"])
def test_what_is_no_name_of_a_unit_is_refused(name):
    with pytest.raises(ValidationError, match="service name"):
        Service(name=name)


def test_a_bad_name_is_shown_with_its_place(tmp_path):
    manifest = tmp_path / "site.yaml"
    manifest.write_text("resources:\n  - service:\n      - app; rm -rf /: {ensure: running}\n")
    with pytest.raises(ManifestError) as raised:
        load(str(manifest))
    (problem,) = raised.value.diagnostics
    assert (problem.place.line, problem.place.column) == (3, 9)
    assert "dangerous" in problem.message
    assert "letters" in problem.hint


@pytest.mark.parametrize(
    ("properties", "wrong"),
    [
        ({"masked": True}, {"masked"}),
        ({"masked": True, "ensure": "stopped", "enable": True}, {"enable"}),
        ({"masked": True, "enable": True}, {"masked", "enable"}),
        ({"preset": True, "enable": True}, {"preset"}),
        ({"preset": True, "masked": True, "ensure": "stopped"}, {"preset"}),
        ({"provider": "upstart"}, {"provider"}),
    ],
)
def test_what_does_not_go_together_is_refused(properties, wrong):
    with pytest.raises(ValidationError) as raised:
        Service(name="app", **properties)
    (error,) = raised.value.errors()
    assert {problem.path[0] for problem in error["ctx"]["error"].problems} == wrong


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ({"name": "app"}, {"name": "app.service"}, True),
        ({"name": "app"}, {"name": "app.service", "ensure": "stopped"}, False),
        ({"name": "app", "enable": True}, {"name": "app.service"}, True),
        ({"name": "app", "enable": True}, {"name": "app.service", "enable": False}, False),
        ({"name": "app"}, {"name": "app.service", "ensure": "stopped", "scope": "user"}, True),
        ({"name": "app"}, {"name": "app.socket", "ensure": "stopped"}, True),
    ],
)
def test_two_that_want_one_unit_to_be_different_are_refused(one, other, agree):
    if agree:
        graph_of([Service(**one), Service(**other)])
    else:
        with pytest.raises(AssertionError, match=r"of the unit app\.service"):
            graph_of([Service(**one), Service(**other)])


@pytest.mark.parametrize(
    "path",
    [
        "/etc/systemd/system/app@1.service",
        "/etc/systemd/system/app@.service",
        "/usr/lib/systemd/system/app@.service",
        "/run/systemd/system/app@1.service.d/limits.conf",
        "/etc/systemd/system/app@.service.d/limits.conf",
        "/etc/systemd/system/service.d/limits.conf",
    ],
)
def test_a_managed_unit_file_or_drop_in_goes_first(path):
    service = Service(name="app@1")
    unit_file = File(name=path, ensure="present", content="x", **OWNERS)
    graph = graph_of([service, unit_file])
    assert (unit_file.ref, service.ref) in graph.dag.edges


@pytest.mark.parametrize(
    "path", ["/etc/systemd/system/app@2.service", "/etc/systemd/system/app@1.service.conf"]
)
def test_other_files_have_no_say_in_the_order(path):
    graph = graph_of([Service(name="app@1"), File(name=path, ensure="present", content="x", **OWNERS)])
    assert not graph.dag.edges


def test_a_unit_is_stopped_before_its_file_is_removed():
    service = Service(name="app", ensure="stopped")
    unit_file = File(name="/etc/systemd/system/app.service", ensure="absent")
    assert (service.ref, unit_file.ref) in graph_of([unit_file, service]).dag.edges


@pytest.mark.parametrize(
    ("unit", "path"),
    [
        ("app.service", "app_2eservice"),
        ("1a.service", "_31a_2eservice"),
        ("a-b@c.service", "a_2db_40c_2eservice"),
        (r"a\x2db.mount", "a_5cx2db_2emount"),
    ],
)
def test_units_have_a_path_on_the_bus(unit, path):
    assert object_path(unit) == f"/org/freedesktop/systemd1/unit/{path}"


@pytest.mark.parametrize(
    ("text", "is_name"),
    [
        ("app.service", True),
        (r"a\x2db:c_d.e-f@1.mount", True),
        ("-.mount", True),
        ("app", False),
        ("app.conf", False),
        (".service", False),
        ("@1.service", False),
        ("a+b.service", False),
        ("a~b.service", False),
        ("x" * 247 + ".service", True),
        ("x" * 248 + ".service", False),
    ],
)
def test_what_systemd_takes_for_the_name_of_a_unit(text, is_name):
    assert is_unit_name(text) is is_name


def test_only_instances_have_a_template():
    assert template_of("app@1.service") == "app@.service"
    assert template_of("app.service") is None
