import pytest

from reactor.console.history_lines import entry_line
from reactor.console.style import Style
from reactor.console.summary import plain_summary, table_summary
from reactor.console.text import TextSink
from reactor.engine.events import (
    AuditFound,
    Blocked,
    Cause,
    Checked,
    Converged,
    Ended,
    EventsLost,
    Output,
    Reloaded,
    Result,
    Skipped,
    Unblocked,
    WatcherChanged,
    as_json,
)
from reactor.number_format import seconds
from reactor.resource.watch import WatchState

OK = Checked(1.0, "file#/a", Result.OK, Cause.INITIAL, 0.001)
CHANGED = Checked(1.0, "file#/a", Result.CHANGED, Cause.DRIFT, 0.0012, ("updated the content",))
FAILED = Checked(
    1.0, "exec#x", Result.FAILED, Cause.INITIAL, 1.0, error="exit code 1\nof sh", hint="mend it", retry_in=4.0
)


class Seen:
    """A text sink and what it wrote."""

    def __init__(self, *, coloured=False, continuous=False, aligned=False):
        self.lines = []
        self.sink = TextSink(self.lines.append, Style(coloured), continuous=continuous, aligned=aligned)

    def __call__(self, *events):
        self.lines.clear()
        for event in events:
            self.sink(event)
        return "".join(self.lines)


def ended(**counts):
    return Ended(
        1.0,
        {str(result): counts.get(result, 0) for result in Result},
        counts.get("changes", 0),
        2.0,
        "converged",
    )


def test_a_plain_ok_check_says_nothing():
    assert Seen()(OK, OK) == ""


def test_a_change_says_what_why_and_how_long():
    assert Seen()(CHANGED) == "file#/a  changed  updated the content (drift, 1.2 ms)\n"


def test_a_failure_after_a_change_says_what_was_changed():
    halfway = Checked(
        1.0, "file#/a", Result.FAILED, Cause.DRIFT, 0.1, ("set the mode",), error="no such user"
    )
    first = "file#/a  failed  after it set the mode (drift, 100 ms)\n    no such user\n"
    assert (
        Seen()(halfway, halfway) == f"{first}file#/a  failed  again, after it set the mode (drift, 100 ms)\n"
    )
    assert entry_line(as_json(halfway), Style(False), aligned=False).endswith(
        "failed  file#/a  no such user, after it set the mode (drift, 100 ms)"
    )


def test_a_noop_change_speaks_in_the_conditional():
    event = Checked(
        1.0, "file#/a", Result.WOULD_CHANGE, Cause.INITIAL, 0.001, ("Would have created the file",)
    )
    assert Seen()(event) == "file#/a  would change  Would have created the file (initial, 1.0 ms)\n"


def test_a_failure_says_error_hint_and_next_attempt():
    assert Seen()(FAILED) == (
        "exec#x  failed  retry in 4 s (initial, 1 s)\n    exit code 1\n    | of sh\n    hint: mend it\n"
    )


def test_the_same_failure_again_is_one_line():
    seen = Seen()
    seen(FAILED)
    assert seen(FAILED) == "exec#x  failed  again, retry in 4 s (initial, 1 s)\n"


def test_a_failure_that_lasts_is_reported_ever_less_often_and_counted():
    def failed(at, error="timed out", actions=()):
        return Checked(float(at), "exec#x", Result.FAILED, Cause.RETRY, 1.0, actions, error=error)

    seen = Seen()
    seen(failed(0))
    lines = [(at, seen(failed(at))) for at in range(5, 24 * 3600, 5)]
    said = [(at, line.split("(")[0].rstrip()) for at, line in lines if line]
    assert said[:5] == [
        (5, "exec#x  failed  again"),
        (10, "exec#x  failed  again"),
        (15, "exec#x  failed  again"),
        (20, "exec#x  failed  again, 4 times by now"),
        (30, "exec#x  failed  again, 6 times by now"),
    ]
    assert 30 < len(said) < 40, "one an hour in the end"
    assert "times by now, after it set the mode" in seen(failed(86400, actions=("set the mode",)))
    assert "no such program" in seen(failed(86401, "no such program"))
    assert seen(failed(86402, "no such program")) == "exec#x  failed  again (retry, 1 s)\n"
    assert seen(failed(5, "no such program")), "the clock was set back"


def test_another_failure_is_reported_in_full():
    seen = Seen()
    seen(FAILED)
    other = Checked(1.0, "exec#x", Result.FAILED, Cause.RETRY, 1.0, error="no such program")
    assert seen(other) == "exec#x  failed  (retry, 1 s)\n    no such program\n"


def test_a_recovery_is_reported_once():
    seen = Seen()
    recovered = Checked(1.0, "exec#x", Result.OK, Cause.RETRY, 0.001)
    assert seen(FAILED, recovered, recovered).endswith("exec#x  ok  again (retry, 1.0 ms)\n")


BLOCKED = Blocked(1.0, "exec#x", ("exec#y", "exec#z"))
UNBLOCKED = Unblocked(1.0, "exec#x")


def test_a_blocked_resource_names_the_root_culprits_once():
    assert Seen()(BLOCKED, BLOCKED) == "exec#x  blocked  by exec#y, exec#z\n"


def test_the_end_of_a_block_is_reported_once():
    seen = Seen()
    seen(BLOCKED)
    assert seen(UNBLOCKED, UNBLOCKED) == "exec#x  unblocked\n"
    assert seen(BLOCKED) == "exec#x  blocked  by exec#y, exec#z\n"


def test_what_was_blocked_is_no_problems_any_more_when_it_is_not_checked_again():
    seen = Seen(continuous=True)
    converged = Converged(1.0, 2, 0.1)
    seen(BLOCKED, UNBLOCKED, converged)
    assert seen(CHANGED, converged).count("converged") == 0
    assert "exec#x" not in plain_summary(ended(ok=2), seen.sink.open_problems, Style(coloured=False))


def test_what_failed_before_it_was_blocked_has_failed_after_that():
    seen = Seen()
    seen(FAILED, BLOCKED, BLOCKED, UNBLOCKED)
    assert "failed   exec#x: exit code 1" in plain_summary(
        ended(failed=1), seen.sink.open_problems, Style(coloured=False)
    )


def test_many_culprits_are_counted():
    assert "by a#1, a#2, a#3 and 2 more" in Seen()(
        Blocked(1.0, "file#/b", ("a#1", "a#2", "a#3", "a#4", "a#5"))
    )


def test_a_watcher_that_notices_well_from_the_start_says_nothing():
    assert Seen()(WatcherChanged(1.0, "inotify", WatchState.ARMED, "")) == ""


def test_a_watcher_that_notices_worse_and_better_says_both():
    seen = Seen()
    worse = WatcherChanged(1.0, "inotify", WatchState.POLLING, "no watches left", "file#/a")
    better = WatcherChanged(1.0, "inotify", WatchState.ARMED, "watches are left again", "file#/a")
    assert seen(worse, worse, better) == (
        "file#/a  watching: polling  no watches left\nfile#/a  watching: armed  watches are left again\n"
    )


def test_lost_events_and_audit_finds_are_reported():
    text = Seen()(EventsLost(1.0, "inotify", "queue overflow"), AuditFound(1.0, "file#/a"))
    assert text == (
        "watcher inotify  warning  events lost: queue overflow; everything it watches is checked\n"
        "file#/a  warning  the audit found drift that no event had reported\n"
    )


@pytest.mark.parametrize(
    ("changed", "gone", "said"),
    [
        ((), (), "nothing differs; kept 7"),
        (("file#/a", "file#/b"), ("exec#x",), "changed file#/a, file#/b; gone exec#x; kept 7"),
        ([f"file#/{n}" for n in range(9)], (), "changed file#/0, file#/1, file#/2 and 6 more; kept 7"),
    ],
)
def test_a_reload_is_reported_by_the_run_and_by_the_journal_in_the_same_words(changed, gone, said):
    event = Reloaded(1.0, kept=7, changed=tuple(changed), added=(), gone=gone)
    assert Seen()(event) == f"manifest  changed  reloaded: {said}\n"
    assert entry_line(as_json(event), Style(coloured=False), aligned=False).endswith(f"  reloaded  {said}")


def test_output_can_not_drive_the_terminal():
    assert (
        Seen()(Output(1.0, "exec#x", "\x1b]0;title\x07 done\r")) == "exec#x | \\x1b]0;title\\x07 done\\x0d\n"
    )


def test_a_name_is_not_shown_backwards():
    line = Seen()(Output(1.0, "exec#x\u202efdp.exe", "one\u2028two"))
    assert line == "exec#x\\u202efdp.exe | one\\u2028two\n"


def test_converged_is_reported_first_and_after_problems_but_not_after_each_repair():
    seen = Seen(continuous=True)
    converged = Converged(1.0, 2, 0.5)
    assert seen(converged) == "converged  2 resources in 500 ms\n"
    assert "converged" not in seen(CHANGED, converged)
    recovered = Checked(1.0, "exec#x", Result.OK, Cause.RETRY, 0.001)
    assert seen(FAILED, recovered, converged).endswith("converged  2 resources in 500 ms\n")


def test_a_run_that_ends_does_not_announce_that_it_converged():
    assert Seen()(Converged(1.0, 2, 0.5)) == ""


def test_on_a_terminal_the_states_stand_in_one_column_before_the_names():
    seen = Seen(continuous=True, aligned=True)
    noop = Checked(1.0, "file#/long/name", Result.WOULD_CHANGE, Cause.INITIAL, 0.001, ("Would create it",))
    polling = WatcherChanged(1.0, "inotify", WatchState.POLLING, "no watches left", "file#/a")
    assert seen(CHANGED, noop, BLOCKED, UNBLOCKED, polling, Converged(1.0, 2, 0.5)) == (
        "changed       file#/a  updated the content (drift, 1.2 ms)\n"
        "would change  file#/long/name  Would create it (initial, 1.0 ms)\n"
        "blocked       exec#x  by exec#y, exec#z\n"
        "unblocked     exec#x\n"
        "watching      file#/a  polling: no watches left\n"
        "converged     2 resources in 500 ms\n"
    )


def test_on_a_terminal_what_a_failure_and_a_command_say_stands_below_their_names():
    assert Seen(aligned=True)(FAILED, Output(1.0, "exec#x", "a line")) == (
        "failed        exec#x  retry in 4 s (initial, 1 s)\n"
        "              exit code 1\n"
        "              | of sh\n"
        "              hint: mend it\n"
        "              exec#x | a line\n"
    )


def test_on_a_terminal_an_empty_line_ends_each_diff_and_in_a_pipe_none():
    diffs = ("--- a\n+++ b\n-old\n", "--- c\n+++ d\n+new\n")
    event = Checked(1.0, "file#/a", Result.CHANGED, Cause.DRIFT, 0.001, ("x",), diffs)
    assert Seen(aligned=True)(event).partition("\n")[2] == "--- a\n+++ b\n-old\n\n--- c\n+++ d\n+new\n\n"
    assert "\n\n" not in Seen()(event)


def test_the_summary_on_a_terminal_names_what_failed_and_does_not_report_the_error_again():
    seen = Seen(aligned=True)
    assert "exit code 1" in seen(FAILED)
    text = table_summary(ended(failed=1), seen.sink.open_problems, 60, coloured=False)
    assert "failed  exec#x" in text
    assert "exit code 1" not in text


def test_diffs_are_coloured_line_by_line():
    event = Checked(
        1.0,
        "file#/a",
        Result.CHANGED,
        Cause.DRIFT,
        0.001,
        ("x",),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n",),
    )
    lines = Seen(coloured=True)(event).splitlines()
    assert lines[1:] == [
        "\x1b[1m--- a\x1b[0m", "\x1b[1m+++ b\x1b[0m", "\x1b[36m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m-old\x1b[0m", "\x1b[32m+new\x1b[0m", " same",
    ]  # fmt: skip


def test_the_summary_names_what_failed_what_is_blocked_and_why_some_was_skipped():
    seen = Seen()
    seen(
        Blocked(1.0, "file#/b", ("exec#x",)),
        FAILED,
        Skipped(1.0, "file#/c", "a failure"),
        Skipped(1.0, "file#/d", "a failure"),
    )
    text = plain_summary(
        ended(ok=3, failed=1, blocked=1, skipped=2, changes=1), seen.sink.open_problems, Style(False)
    )
    assert text == (
        "ok 3  changed 0  failed 1  blocked 1  skipped 2  (converged, 1 change in 2 s)\n"
        "failed   exec#x: exit code 1\n"
        "blocked  file#/b  by exec#x\n"
        "skipped  2: a failure\n"
    )


def test_a_long_list_of_problems_is_cut_and_counted():
    seen = Seen()
    seen(*(Blocked(1.0, f"file#/{n}", ("exec#x",)) for n in range(50)))
    lines = plain_summary(ended(blocked=50), seen.sink.open_problems, Style(False)).splitlines()
    assert len(lines) == 22
    assert lines[-1].endswith("and 30 more")


def test_the_table_shows_names_as_they_are_and_fits_a_narrow_terminal():
    seen = Seen()
    seen(Checked(1.0, "exec#[red]x[/]", Result.FAILED, Cause.INITIAL, 1.0, error="exit [code] 1"))
    text = table_summary(ended(ok=1, failed=1), seen.sink.open_problems, 60, coloured=False)
    assert "failed  exec#[red]x[/]" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize("width", [25, 40, 50])
def test_on_a_narrow_terminal_every_count_keeps_its_word(width):
    counts = {"ok": 1, "changed": 2, "would_change": 3, "failed": 4, "blocked": 5}
    text = table_summary(ended(**counts), Seen().sink.open_problems, width, coloured=False)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert all(word.replace("_", " ") in " ".join(text.split()) for word in counts)


@pytest.mark.parametrize(
    ("duration", "text"),
    [(0.0, "0.0 ms"), (0.00042, "0.4 ms"), (0.0999, "99.9 ms"), (0.09999, "100 ms"), (0.99949, "999 ms"),
     (0.9999, "1 s"), (1.234, "1.23 s"), (59.4, "59.4 s"), (61, "1 min 1 s"), (7260, "2 h 1 min"),
     (86399, "23 h 59 min"), (86400, "1 d 0 h"), (90 * 86400 + 7300, "90 d 2 h")],
)  # fmt: skip
def test_durations_are_short(duration, text):
    assert seconds(duration) == text
