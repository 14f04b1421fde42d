"""Which versions stay: a table, and what holds for every table."""

from hypothesis import given
from hypothesis import strategies as st

from reactor.backup.entry import Name, key_of, pack, parse_name, unpack
from reactor.backup.pruning import Limits, Retention

DAY = 86400 * 10**9
NOW = 1000 * DAY


def name(path, days_ago, content):
    return Name(key_of(path), NOW - int(days_ago * DAY), "01234567", f"{content:064x}")


def survivors(names, sizes, limits, now):
    retention = Retention(sizes.get, limits, now)
    newest_first = sorted(names, key=lambda each: each.time, reverse=True)
    stay = {each for each in newest_first if retention.keeps(each)}
    assert all(retention.keeps_object(each.digest) for each in stay)
    return stay, retention.used


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


def test_one_path_can_not_push_out_all_others():
    other = name("/quiet", 20, 0)
    busy = [name("/busy", n / 1000, n + 1) for n in range(1000)]
    sizes = {each.digest: 5 for each in [other, *busy]}
    stay, _ = survivors([*busy, other], sizes, Limits(), NOW)
    assert stay == {other, *busy[:100]}


def test_an_entry_without_its_object_goes():
    assert survivors([name("/a", 0, 1)], {}, Limits(), NOW) == (set(), 0)


def test_a_name_is_read_back_as_it_was_written():
    written = name("/etc/ü", 3, 255)
    assert parse_name(str(written)) == written
    assert parse_name(f"{written}.x") is None
    assert len(str(written)) < 255


def test_packed_names_are_read_back_and_sort_by_time():
    newer, older = name("/a", 3, 255), name("/b", 4, 256)
    assert unpack(pack(newer)) == newer
    assert sorted([pack(newer), pack(older)]) == [pack(older), pack(newer)]


names = st.builds(name, st.sampled_from(["/a", "/b", "/c"]), st.integers(-1, 40), st.integers(0, 5))


@given(st.lists(names, max_size=30, unique=True), st.integers(0, 100_000), st.integers(1, 5))
def test_what_stays_is_within_all_limits_and_never_older_than_what_goes_for_room(all_names, total, versions):
    sizes = {each.digest: 5000 for each in all_names}
    limits = Limits(total=total, versions=versions)
    stay, used = survivors(all_names, sizes, limits, NOW)
    assert used <= total
    assert used == 4096 * len(stay) + 8192 * len({each.digest for each in stay})
    for each in stay:
        assert NOW - each.time <= limits.age * 1e9
        assert sum(other.key == each.key for other in stay) <= versions
