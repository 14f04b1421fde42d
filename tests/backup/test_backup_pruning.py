"""Which versions stay: a table, and what holds for every table. The directories are real."""

import os
import tempfile
import tracemalloc
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.backup import pruning
from reactor.backup.entry import Name, key_of, pack, parse_name, unpack
from reactor.backup.pruning import Limits, names_in, prune

DAY = 86400 * 10**9
NOW = 1000 * DAY
PRUNINGS = 20
"""So many leave no object over: with a thousand objects, one pruning in ten misses one."""


def name(path, days_ago, content):
    digest = sha256(str(content).encode()).hexdigest()
    return Name(key_of(path), NOW - int(days_ago * DAY), "01234567", digest)


def survivors(names, sizes, limits, now):
    """What stays of a store with these entries, and its bytes on disk. ``sizes`` are those of the objects, by digest.

    One pruning may miss an object whose entry is gone, the next ones do not.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        entries, objects = Path(directory, "entries"), Path(directory, "objects")
        entries.mkdir()
        objects.mkdir()
        for each in names:
            (entries / str(each)).touch()
        for digest, size in sizes.items():
            with (objects / digest).open("wb") as file:
                file.truncate(size)
        used = prune(str(entries), str(objects), limits, now)
        stay = set(names_in(str(entries)))
        kept = {each.digest for each in stay}
        for _ in range(PRUNINGS):
            if len(os.listdir(objects)) > len(kept):
                used = prune(str(entries), str(objects), limits, now)
        assert set(os.listdir(objects)) == kept
        assert set(names_in(str(entries))) == stay
    return stay, used


def test_versions_older_than_the_age_go():
    young, old = name("/a", 29, 1), name("/a", 31, 2)
    assert survivors([old, young], {young.digest: 10, old.digest: 10}, Limits(), NOW) == ({young}, 8192)


def test_the_oldest_go_when_the_total_is_reached():
    names = [name(f"/{n}", n, n) for n in range(4)]
    sizes = {each.digest: 1 << 20 for each in names}
    limits = Limits(total=3 << 20)
    stay, used = survivors(names, sizes, limits, NOW)
    assert stay == set(names[:2])
    assert used == 2 * ((1 << 20) + 4096)


def test_shared_content_is_counted_once():
    names = [name(f"/{n}", n / 2, 1) for n in range(50)]
    stay, used = survivors(names, {names[0].digest: 1 << 20}, Limits(total=2 << 20), NOW)
    assert stay == set(names)
    assert used == (1 << 20) + 50 * 4096


def test_an_object_stays_while_a_younger_entry_has_it():
    names = [name("/a", 1, 1), name("/b", 2, 2), name("/c", 3, 1)]
    sizes = {each.digest: 1 << 20 for each in names}
    stay, used = survivors(names, sizes, Limits(total=2 << 20), NOW)
    assert stay == {names[0]}
    assert used == (1 << 20) + 4096


def test_one_path_can_not_push_out_all_others():
    other = name("/quiet", 20, 0)
    busy = [name("/busy", n / 1000, n + 1) for n in range(1000)]
    sizes = {each.digest: 5 for each in [other, *busy]}
    stay, _ = survivors([*busy, other], sizes, Limits(), NOW)
    assert stay == {other, *busy[:100]}


def test_each_of_many_paths_keeps_its_newest_versions():
    names = [name(f"/{path}", n, 1) for path in range(100) for n in range(4)]
    stay, _ = survivors(names, {names[0].digest: 5}, Limits(versions=3), NOW)
    assert stay == {each for each in names if each.time > NOW - 3 * DAY}


def test_an_entry_without_its_object_goes():
    assert survivors([name("/a", 0, 1)], {}, Limits(), NOW) == (set(), 0)


def test_an_object_without_an_entry_goes():
    orphan = name("/a", 0, 1)
    assert survivors([], {orphan.digest: 5}, Limits(), NOW) == (set(), 0)


def test_a_name_is_read_back_as_it_was_written():
    written = name("/etc/ü", 3, 255)
    assert parse_name(str(written)) == written
    assert parse_name(f"{written}.x") is None
    assert len(str(written)) < 255


def test_packed_names_are_read_back_and_sort_by_time():
    newer, older = name("/a", 3, 255), name("/b", 4, 256)
    assert unpack(pack(newer)) == newer
    assert sorted([pack(newer), pack(older)]) == [pack(older), pack(newer)]


def expected(names, sizes, limits, now):
    """The newest first: of each path up to its limit, until one is too old or there is no room."""
    stay, of_path, digests, used = set(), Counter(), set(), 0
    for each in sorted(names, key=lambda each: each.time, reverse=True):
        if of_path[each.key] >= limits.versions:
            continue
        more = 4096 + (0 if each.digest in digests else -(-sizes[each.digest] // 4096) * 4096)
        if used + more > limits.total * 7 / 8 or now - each.time > limits.age * 1e9:
            break
        used += more
        of_path[each.key] += 1
        digests.add(each.digest)
        stay.add(each)
    return stay, used


names = st.builds(name, st.sampled_from(["/a", "/b", "/c"]), st.integers(-1, 40), st.integers(0, 5))
distinct_times = st.lists(names, max_size=30, unique_by=lambda each: each.time)


@given(distinct_times, st.integers(0, 200_000), st.integers(1, 5), st.integers(1, 8))
def test_the_newest_within_all_limits_stay(all_names, total, versions, at_once):
    sizes = {each.digest: int(each.digest[:4], 16) // 4 for each in all_names}
    limits = Limits(total=total, versions=versions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "_OLDEST_AT_ONCE", at_once)
        assert survivors(all_names, sizes, limits, NOW) == expected(all_names, sizes, limits, NOW)


def peak_of_pruning(count):
    """The most memory, in bytes, that pruning needs for ``count`` versions of as many paths, all within the limits."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        entries, objects = Path(directory, "entries"), Path(directory, "objects")
        entries.mkdir()
        objects.mkdir()
        for number in range(count):
            each = name(f"/{number}", number / count, 1)
            (entries / str(each)).touch()
        (objects / each.digest).touch()
        tracemalloc.start()
        try:
            prune(str(entries), str(objects), Limits(), NOW)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def test_pruning_needs_no_more_memory_for_more_versions():
    assert peak_of_pruning(8000) < peak_of_pruning(2000) + 20_000
