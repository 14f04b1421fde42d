"""``register_when_stable``: checked like all properties, and published nowhere."""

import json
import textwrap

import pytest
from pydantic import ValidationError

from reactor.resource.common_properties import Registration

ENTRY = {
    "cluster": "c",
    "service": "web",
    "protocol": "http",
    "address": "192.0.2.1",
    "port": 80,
    "priority": 10,
}


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"address": "2001:db8::1"},
        {"port": "8080"},
        {"port": 65535, "priority": 255},
        {"annotations": {"prometheus.io/scrape": "true"}},
        {"ttl": "30s"},
        {"ttl": "never"},
    ],
)
def test_an_entry_is_taken(entry):
    assert Registration(**ENTRY | entry).cluster == "c"


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"cluster": "1a"}, "valid name"),
        ({"service": ""}, "valid name"),
        ({"protocol": "a b"}, "valid name"),
        ({"address": "web01.example.net"}, "not an IP address"),
        ({"port": 0}, "greater than or equal to 1"),
        ({"port": 65536}, "less than or equal to 65535"),
        ({"port": "http"}, "whole number"),
        ({"priority": 256}, "less than or equal to 255"),
        ({"ttl": "soon"}, "not a duration"),
        ({"annotations": {"a": [1]}}, "string"),
        ({"host": "x"}, "Extra inputs"),
    ],
)
def test_an_entry_is_refused(entry, word):
    with pytest.raises(ValidationError, match=word):
        Registration(**ENTRY | entry)


def test_a_wrong_time_to_live_is_one_error():
    with pytest.raises(ValidationError) as caught:
        Registration(**ENTRY, ttl="soon")
    assert [error["msg"] for error in caught.value.errors()] == [
        "Value error, 'soon' is not a duration such as 30s, nor never"
    ]


@pytest.mark.parametrize("name", [*ENTRY])
def test_an_entry_needs_all_of_these(name):
    with pytest.raises(ValidationError, match="Field required"):
        Registration(**{key: value for key, value in ENTRY.items() if key != name})


BOTH_FORMS = pytest.mark.parametrize(
    ("head", "indent"), [("resources:\n", ""), ("ccm:\n  resources:\n", "  ")], ids=["native", "ccm"]
)


@BOTH_FORMS
def test_a_user_who_is_registered_is_an_error_where_no_one_can_be_asked(
    head, indent, tmp_path, monkeypatch, reactor
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    balancer = tmp_path / "balancer.conf"
    balancer.write_text("server 192.0.2.1\n")
    manifest = tmp_path / "m.yaml"
    body = f"""- file:
    - {balancer}:
        content: "{{{{ registrations('c', 'tcp', 'web', '*') }}}}"
        owner: root
        group: root
        mode: "0644"
        ensure: present
- exec:
    - reload:
        command: /usr/bin/touch {tmp_path}/reloaded
"""
    manifest.write_text(head + textwrap.indent(body, f"{indent}  "))
    done = reactor("run", "--converge-once", manifest)
    assert done.code == 2
    assert "registrations: there is no NATS context CCM" in done.out + done.err
    assert balancer.read_text() == "server 192.0.2.1\n"
    assert not (tmp_path / "reloaded").exists()


@BOTH_FORMS
def test_what_will_not_be_published_is_reported_with_its_place(head, indent, tmp_path, reactor):
    manifest = tmp_path / "m.yaml"
    manifest.write_text(
        head
        + f"{indent}  - exec:\n{indent}      - a:\n{indent}          command: /bin/true\n"
        + f"{indent}          register_when_stable: [{json.dumps(ENTRY)}]\n"
    )
    done = reactor("run", "--converge-once", manifest)
    assert done.code == 0
    line = 5 if not indent else 6
    assert f"m.yaml:{line}:" in done.err
    assert "register_when_stable of exec#a is checked, and published nowhere" in done.err
