"""What people may write for a time in the past, and for a duration."""

from datetime import datetime

import click
import pytest

from reactor.cli.options.times import at_least, moment, moment_of

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


@pytest.mark.parametrize(
    ("text", "seconds"), [("10m", 600), ("1h30m", 5400), ("300", 300), ("0.5", 0.5), (" 0 ", 0)]
)
def test_a_soak_is_a_duration_and_a_plain_number_is_one_of_seconds(text, seconds):
    assert at_least(0)(None, None, text) == seconds


@pytest.mark.parametrize(
    ("text", "least", "words"),
    [
        ("soon", 0, "'soon' is not a duration: write it as 500ms, 30s, 5m or 1h30m"),
        ("-5", 0, "'-5' is not a duration"),
        ("nan", 0, "'nan' is not a duration"),
        ("1e9", 0, "'1e9' is not a duration"),
        ("100ms", 1, "it must be at least 1s"),
    ],
)
def test_what_is_no_duration_is_refused_with_the_way_to_write_one(text, least, words):
    with pytest.raises(click.BadParameter, match=words):
        at_least(least)(None, None, text)


def test_a_duration_may_be_too_long():
    with pytest.raises(click.BadParameter, match="it must be at most 3600s"):
        at_least(1, 3600)(None, None, "2h")


def test_every_command_takes_durations(reactor, tmp_path):
    (tmp_path / "manifest.yaml").write_text("resources: []\n")
    for words in (
        ("fleet", "release", tmp_path, "web", "--soak"),
        ("push", tmp_path, "web1", "--timeout"),
        ("push", tmp_path, "web1", "--connect-timeout"),
        ("run", tmp_path, "--converged-timeout"),
        ("run", tmp_path, "--health-interval"),
    ):
        done = reactor(*words, "soon")
        assert done.code == 2
        assert "'soon' is not a duration" in done.err
    done = reactor("fleet", "release", tmp_path, "web", "--soak", "10m", "--home", tmp_path / "none")
    assert "there is no fleet in" in done.err
