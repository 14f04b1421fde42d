"""Times by Go's layouts: what its documentation says of each part."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.language.times import format_time, parse_time

EAST = timezone(timedelta(hours=5, minutes=30))
DRAW_AFTER = datetime(2023, 8, 4, 15, 6, 7, 120_000, EAST)


@pytest.mark.parametrize(
    ("layout", "written"),
    [
        ("2006-01-02T15:04:05Z07:00", "2023-08-04T15:06:07+05:30"),
        ("2/1/06 3:4:5 PM", "4/8/23 3:6:7 PM"),
        ("Mon Jan _2 03:04pm", "Fri Aug  4 03:06pm"),
        ("Monday, 02 January 2006", "Friday, 04 August 2023"),
        ("15:04:05.000 -0700", "15:06:07.120 +0530"),
        ("15:04:05,999 -07:00", "15:06:07,12 +05:30"),
        ("002 -07", "216 +05"),
        ("it is %d", "it is %d"),
        ("", ""),
    ],
)
def test_each_part_is_written_as_go_writes_it(layout, written):
    assert format_time(DRAW_AFTER, layout) == written


def test_what_has_no_offset_is_zulu():
    assert format_time(DRAW_AFTER.astimezone(UTC), "15:04Z07:00 Z0700 -07:00") == "09:36Z Z +00:00"


def test_a_fraction_of_nothing_is_left_out():
    assert format_time(DRAW_AFTER.replace(microsecond=0), "05.999 05.00") == "07 07.00"


@given(
    st.datetimes(timezones=st.just(EAST)),
    st.sampled_from(["2006-01-02T15:04:05.999999Z07:00", "Jan _2 2006 3:04:05.000000 PM -0700"]),
)
def test_what_is_written_reads_back(moment, layout):
    assert parse_time(format_time(moment, layout), layout, UTC) == moment
