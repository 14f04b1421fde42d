"""Answers to what packages ask: told to the real debconf before apt installs them."""

from __future__ import annotations

import pytest
from deb_packages import Deb
from pydantic import ValidationError

from reactor.engine.events import Result
from reactor.resource.redaction import redact
from reactor.resources.package import Package
from reactor.testing.story import converge_once

CONFIGURATION = """\
Config: configdb
Templates: templatedb

Name: configdb
Driver: File
Filename: /config.dat

Name: templatedb
Driver: File
Filename: /templates.dat
"""


@pytest.fixture
def asking(apt):
    """A host with a debconf of its own, whose package writes down what debconf knows when it is installed."""
    (apt.root / "etc/debconf.conf").write_text(CONFIGURATION)
    asked = f"cp {apt.root}/config.dat {apt.root}/asked.dat || true"
    apt.offer(Deb("mailer", scripts={"preinst": asked}), Deb("broken", scripts={"preinst": "exit 1"}))
    apt.update()
    return apt


def mailer(**answers):
    return Package(name="mailer", ensure="present", provider="apt", answers=answers)


async def test_debconf_knows_the_answers_before_the_package_is_unpacked(asking):
    resource = mailer(**{
        "mailer/name": "example.org", "mailer/root": True, "mailer/kind": {"type": "select", "value": "Local only"},
    })  # fmt: skip
    ended, story = await converge_once(resource)
    assert story.checks(resource.ref)[0].error is None
    known = (asking.root / "asked.dat").read_text()
    for question, value in (("name", "example.org"), ("root", "true"), ("kind", "Local only")):
        assert f"Name: mailer/{question}\nTemplate: mailer/{question}\nValue: {value}\n" in known
    ended, _ = await converge_once(resource)
    assert ended.changes == 0, "what is installed asks no more"


async def test_a_password_is_never_shown(asking):
    resource = mailer(**{"mailer/password": {"type": "password", "value": "hunter2-of-debconf"}})
    ended, story = await converge_once(resource)
    assert ended.changes == 1
    assert "hunter2-of-debconf" in (asking.root / "asked.dat").read_text()
    assert "hunter2-of-debconf" not in repr(story.events) + repr(resource)
    assert "hunter2-of-debconf" not in redact("it is hunter2-of-debconf")
    assert all("hunter2-of-debconf" not in line for line in asking.transactions)


async def test_nothing_is_reported_where_nothing_is_installed(asking):
    asking.install("mailer")
    (asking.root / "config.dat").unlink(missing_ok=True)
    ended, _ = await converge_once(mailer(**{"mailer/name": "example.org"}))
    assert ended.counts[Result.OK] == 1
    assert not (asking.root / "config.dat").exists()


@pytest.mark.parametrize(
    "properties",
    [
        {"answers": {"no question": "x"}},
        {"answers": {"mailer/name": "two\nlines"}},
        {"answers": {"mailer/name": {"type": "wish", "value": "x"}}},
        {"answers": {"mailer/name": "x"}, "ensure": "absent"},
        {"answers": {"mailer/name": "x"}, "provider": "dnf"},
    ],
)
def test_what_are_no_answers_is_refused(properties):
    with pytest.raises(ValidationError):
        Package(**{"name": "mailer", "ensure": "present", **properties})
