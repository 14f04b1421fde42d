"""How much is kept of the diffs of one event."""

from journal_worlds import changed

from reactor.journal.diffs import DIFF_LIMIT, size_of, with_short_diffs


def test_diffs_are_cut_at_the_end_of_a_line_and_say_how_much_is_missing():
    long = "".join(f"+line {number}\n" for number in range(3000))
    assert len(long) > DIFF_LIMIT
    kept, cut = with_short_diffs(changed(diffs=("+first\n", long, "+never\n"))).diffs
    assert kept == "+first\n"
    room = DIFF_LIMIT - len(kept)
    body, _, end = cut.rpartition("\n… (")
    assert long.startswith(f"{body}\n")
    assert room - 20 < len(body) <= room
    assert end == f"{len(long) - room} characters more)\n"


def test_diffs_that_just_fit_are_kept_whole():
    event = changed(diffs=("+" * (DIFF_LIMIT - 1), "-"))
    assert size_of(event) == DIFF_LIMIT
    assert with_short_diffs(event).diffs == event.diffs
    one_more = with_short_diffs(changed(diffs=(*event.diffs, "+"))).diffs
    assert one_more[:2] == event.diffs
    assert one_more[2] == "\n… (1 characters more)\n"
