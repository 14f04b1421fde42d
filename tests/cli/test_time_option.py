"""What people may write for a time in the past."""

from datetime import datetime

import click
import pytest

from reactor.cli.options.times import moment, moment_of

NOW = datetime.fromisoformat("2026-03-01 15:30:20")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("now", "2026-03-01 15:30:20"),
        ("today", "2026-03-01 00:00:00"),
        ("yesterday", "2026-02-28 00:00:00"),
        ("1h30m", "2026-03-01 14:00:20"),
        ("-2h", "2026-03-01 13:30:20"),
        ("2h ago", "2026-03-01 13:30:20"),
        ("2 hours ago", "2026-03-01 13:30:20"),
        ("1 hour 30 min ago", "2026-03-01 14:00:20"),
        ("3 days ago", "2026-02-26 15:30:20"),
        ("20000ms", "2026-03-01 15:30:00"),
        ("14:00", "2026-03-01 14:00:00"),
        ("2026-01-31", "2026-01-31 00:00:00"),
        ("2026-01-31 14:00", "2026-01-31 14:00:00"),
        ("2026-01-31T14:00:05", "2026-01-31 14:00:05"),
    ],
)
def test_a_time_is_written_as_people_do(text, meant):
    assert moment_of(text, NOW) == datetime.fromisoformat(meant).timestamp()


@pytest.mark.parametrize(
    "text", ["", "soon", "14", "ago", "1 fortnight ago", "99999999 years ago", "0001-01-01", "2026-02-30"]
)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(click.BadParameter, match="is not a time"):
        moment(None, None, text)
