"""``register_when_stable``: checked like all properties, and published nowhere."""

import pytest
from pydantic import ValidationError

from reactor.resource.registration import Registration

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


@pytest.mark.parametrize("name", [*ENTRY])
def test_an_entry_needs_all_of_these(name):
    with pytest.raises(ValidationError, match="Field required"):
        Registration(**{key: value for key, value in ENTRY.items() if key != name})
