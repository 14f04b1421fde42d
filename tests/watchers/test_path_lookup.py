"""What is found out about single paths."""

import os

import pytest

from reactor.watchers.path_lookup import leads_elsewhere, names_in, normal_path, target_of


@pytest.mark.parametrize(("count", "pauses"), [(1, 1), (100, 1), (101, 2), (250, 3)])
def test_the_names_of_a_directory_come_with_a_pause_now_and_then(tmp_path, count, pauses):
    names = {str(number).encode() for number in range(count)}
    for name in names:
        (tmp_path / name.decode()).touch()
    found = list(names_in(os.fsencode(tmp_path)))
    assert {name for name in found if name} == names
    assert found.count(b"") == pauses


def test_what_can_not_be_read_has_no_names(tmp_path):
    assert list(names_in(os.fsencode(tmp_path / "missing"))) == []


def test_a_file_leads_elsewhere_only_if_it_has_other_links(tmp_path):
    (file := tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    assert not leads_elsewhere(os.fsencode(file))
    assert not leads_elsewhere(os.fsencode(tmp_path)), "a directory has a link from each directory in it"
    assert not leads_elsewhere(os.fsencode(tmp_path / "missing"))
    assert leads_elsewhere(os.fsencode(tmp_path / "link"))
    os.link(file, tmp_path / "other")
    assert leads_elsewhere(os.fsencode(file))


def test_the_target_of_a_link_is_found_beside_it_also_when_nothing_is_there(tmp_path):
    (link := tmp_path / "link").symlink_to("nowhere")
    assert target_of(os.fsencode(link)) == os.fsencode(tmp_path / "nowhere")
    (round_trip := tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="Too many levels"):
        target_of(os.fsencode(round_trip))


def test_a_path_is_spelled_in_one_way():
    assert normal_path(b"//a/./b//../c/") == b"/a/b/../c"
