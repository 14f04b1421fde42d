from pathlib import Path

import pytest
from file_worlds import make
from property_problems import the_problem
from pydantic import ValidationError

from reactor.resource.watch import PathWatch
from reactor.resources.file import File
from reactor.resources.file.property_types import parse_mode


def problems(**properties) -> str:
    with pytest.raises(ValidationError) as caught:
        File(**properties)
    return str(caught.value)


COMPLETE = {"name": "/x", "ensure": "present", "owner": "root", "group": "root", "mode": "0644"}


@pytest.mark.parametrize(
    ("text", "bits"),
    [("0644", 0o644), ("644", 0o644), ("0o755", 0o755), ("0O700", 0o700), ("0", 0), ("0777", 0o777)],
)
def test_a_mode_is_octal_with_or_without_prefix(text, bits):
    assert parse_mode(text) == bits
    assert File(**{**COMPLETE, "mode": text}).mode == text


@pytest.mark.parametrize("text", ["0888", "rw-r--r--", "", "0x1ff", "-1", " 644", "0o", "6_4_4", "٦٤٤"])
def test_a_mode_that_is_not_octal_is_refused(text):
    assert "is not a valid octal number" in problems(**{**COMPLETE, "mode": text})


@pytest.mark.parametrize("text", ["1777", "4755", "01000"])
def test_a_mode_above_0777_is_refused(text):
    assert "exceeds the maximum 0777" in problems(**{**COMPLETE, "mode": text})


@pytest.mark.parametrize("name", ["x", "./x", "", "/a/../b", "/a/./b", "/a//b", "/a/", "//a", "/a\0b"])
def test_a_path_that_is_not_absolute_and_clean_is_refused(name):
    assert "name" in problems(**{**COMPLETE, "name": name})


@pytest.mark.parametrize("ensure", ["present", "directory"])
@pytest.mark.parametrize("missing", ["owner", "group", "mode"])
def test_owner_group_and_mode_are_required(ensure, missing):
    assert f"{missing} is required" in problems(**{**COMPLETE, "ensure": ensure, missing: None})


def test_all_that_is_missing_is_said_at_once():
    assert "owner, group and mode are required, unless" in problems(name="/x", ensure="present")
    assert "group and mode are required, unless" in problems(name="/x", ensure="present", owner="root")


def test_what_is_to_be_absent_needs_neither_owner_nor_group_nor_mode():
    File(name="/x", ensure="absent")
    File(name="/x", ensure="absent", force=True)
    File(**{**COMPLETE, "ensure": "absent", "content": "x"})


def test_an_unknown_ensure_is_refused():
    assert "'present', 'absent', 'directory' or 'link'" in problems(**{**COMPLETE, "ensure": "file"})


def test_content_and_source_are_mutually_exclusive():
    assert "mutually exclusive" in problems(**COMPLETE, content="x", source="/y")
    assert "mutually exclusive" in problems(**COMPLETE, content="", source="/y")
    assert "mutually exclusive" in problems(name="/x", ensure="absent", content="x", source="/y")


def test_null_content_is_no_content():
    assert File(**COMPLETE, content=None, source="/y").content is None


@pytest.mark.parametrize("key", ["content", "source"])
def test_a_directory_has_no_content(key):
    assert f"a directory has no {key}" in problems(**{**COMPLETE, "ensure": "directory", key: "/y"})


@pytest.mark.parametrize("ensure", ["present", "directory"])
def test_force_goes_with_absent_only(ensure):
    said = problems(**{**COMPLETE, "ensure": ensure, "force": True})
    assert f"'force: true' is only valid with 'ensure: absent', got 'ensure: {ensure}'" in said


def test_force_on_the_root_is_refused():
    assert "cannot be used with the filesystem root" in problems(name="/", ensure="absent", force=True)
    File(name="/etc", ensure="absent", force=True)


@pytest.mark.parametrize("value", ["yes", "true", 1])
def test_force_is_a_boolean_and_nothing_else(value):
    assert "force" in problems(name="/x", ensure="absent", force=value)


@pytest.mark.parametrize("key", ["owner", "group"])
@pytest.mark.parametrize("value", ["", "ro\0ot", "4294967295", "99999999999"])
def test_an_owner_that_can_not_be_is_refused(key, value):
    assert key in problems(**{**COMPLETE, key: value})


def test_an_unknown_provider_is_refused():
    assert "no provider 'posiks'" in problems(**COMPLETE, provider="posiks")
    assert File(**COMPLETE, provider="posix").provider == "posix"


def test_contents_is_not_a_property():
    assert "contents" in problems(**COMPLETE, contents="x")


def test_content_that_is_not_text_is_refused():
    assert "character 3 can't be written as UTF-8" in problems(**COMPLETE, content="xy\ud800")


def test_a_relative_source_starts_at_the_manifest():
    properties = {**COMPLETE, "source": "files/../files/a"}
    assert File.model_validate(properties, context={"base": "/srv/m"}).source == "/srv/m/files/a"
    assert File.model_validate({**COMPLETE, "source": "/a"}, context={"base": "/srv/m"}).source == "/a"


def test_a_relative_source_without_a_manifest_is_refused():
    assert "must be absolute" in problems(**COMPLETE, source="a")
    assert "source cannot be empty" in problems(**COMPLETE, source="")


@pytest.mark.parametrize("source", ["/srv/x", "/srv/x/", "//srv/x", "/srv/../srv/./x", "x", "../srv/x"])
def test_a_source_that_is_the_file_itself_is_refused_however_it_is_spelt(source):
    properties = {**COMPLETE, "name": "/srv/x", "source": source}
    with pytest.raises(ValidationError, match="the source is the file itself"):
        File.model_validate(properties, context={"base": "/srv"})


def test_what_is_to_be_absent_may_name_any_source():
    File(name="/srv/x", ensure="absent", source="/srv/x")


def test_a_file_watches_itself_and_its_source():
    assert list(make("/a/b", content="x").watches()) == [PathWatch("/a/b")]
    assert list(make("/a/b", source="/c").watches()) == [PathWatch("/a/b"), PathWatch("/c", is_input=True)]


def test_a_file_uses_its_parent_and_its_source():
    assert list(make("/a/b", source="/c/d").relations().depends_on) == ["/a", "/c/d"]
    assert list(make("/", ensure="directory").relations().depends_on) == []


def test_a_file_provides_or_removes_its_path():
    for ensure in ("present", "directory"):
        assert list(make("/a", ensure=ensure).relations().provides) == ["/a"]
        assert list(make("/a", ensure=ensure).relations().removes) == []
    assert list(make("/a", ensure="absent").relations().provides) == []
    assert list(make("/a", ensure="absent").relations().removes) == ["/a"]


async def test_a_copy_with_other_properties_is_checked_by_those(tmp_path: Path):
    (tmp_path / "f").write_text("one")
    (tmp_path / "f").chmod(0o644)
    first = make(tmp_path / "f", content="one")
    assert await first.verify() == ()
    assert await first.model_copy(update={"content": "two"}).verify() != ()


def test_the_highest_id_and_the_longest_target_are_allowed():
    File(**{**COMPLETE, "owner": "4294967294", "group": "4294967294"})
    File(name="/l", ensure="link", target="x" * 4095)
    assert "longer than 4095 bytes" in problems(name="/l", ensure="link", target="ä" * 2048)


@pytest.mark.parametrize(
    "xattrs",
    [
        {"user.a": None},
        {"trusted.a": ""},
        {"security.a": "x"},
        {f"user.{'a' * 250}": "x"},
        {f"user.{'ä' * 125}": "x"},
        {"user.a": "x" * 65536},
        {"user.a": f"0x{'00' * 65536}"},
    ],
)
def test_extended_attributes_have_the_names_and_lengths_of_the_kernel(xattrs):
    assert File(**COMPLETE, xattrs=xattrs).xattrs == xattrs


@pytest.mark.parametrize(
    ("xattrs", "words"),
    [
        ({"system.a": "x"}, "is not an extended attribute that can be set"),
        ({"user.": "x"}, "is not an extended attribute that can be set"),
        ({"user.a.": "x"}, "is not an extended attribute that can be set"),
        ({"user.a\0b": "x"}, "is not an extended attribute that can be set"),
        ({"system.posix_acl_default": "x"}, "are properties of their own"),
        ({f"user.{'a' * 251}": None}, "a name has at most 255 bytes"),
        ({f"user.{'ä' * 126}": None}, "a name has at most 255 bytes"),
        ({"user.a": "x" * 65537}, "a value 65536"),
        ({"user.a": "x", "user.b": "ä" * 32769}, "user.b: a name has at most 255 bytes, and a value 65536"),
    ],
)
def test_other_extended_attributes_are_refused(xattrs, words):
    assert words in problems(**COMPLETE, xattrs=xattrs)


DIRECTORY = {**COMPLETE, "ensure": "directory", "mode": "0755"}
LINK = {"name": "/x", "ensure": "link", "target": "t"}
GONE = {"name": "/x", "ensure": "absent"}


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({**COMPLETE, "template": "/x"}, "the template is the file itself"),
        ({**DIRECTORY, "template": "/t"}, "a directory has no template"),
        ({**LINK, "template": "/t"}, "a link has no template"),
        ({**LINK, "target": "."}, "the target is the link itself"),
        ({**LINK, "setgid": False}, "a link has no setgid"),
        ({**DIRECTORY, "target": "t"}, "target is only valid with 'ensure: link', got 'ensure: directory'"),
        ({**DIRECTORY, "name": "/", "recurse": True}, "recurse cannot be used with the filesystem root"),
        ({**COMPLETE, "sticky": False}, "sticky is only valid with 'ensure: directory'"),
        ({**GONE, "sticky": True}, "sticky is only valid with 'ensure: directory'"),
        (
            {"name": "/x", "ensure": "absent", "recurse": True},
            "recurse is only valid with 'ensure: directory'",
        ),
        ({**GONE, "file_mode": "0644"}, "file_mode is only valid with recurse"),
        ({**GONE, "target": "t"}, "target is only valid with 'ensure: link'"),
        ({**COMPLETE, "acl": [], "meta": {"reverse": True}}, "what acl was before is not recorded"),
        ({**COMPLETE, "xattrs": {}, "meta": {"reverse": True}}, "what xattrs was before is not recorded"),
        ({**LINK, "xattrs": {}}, "a link has no xattrs"),
        ({**GONE, "acl": []}, "an absent file has no acl"),
        ({**GONE, "content": "x", "validate": "true {path}"}, "there is nothing to validate"),
        ({**DIRECTORY, "validate": "true {path}"}, "there is nothing to validate"),
        ({**LINK, "name": "/", "force": True}, "cannot be used with the filesystem root"),
    ],
)
def test_what_a_type_of_file_can_not_have_is_refused(properties, words):
    assert words in problems(**properties)


def test_who_gives_a_directory_a_source_is_led_to_a_scaffold():
    (problem,) = File.model_construct(**{**DIRECTORY, "source": "/t"}).property_problems()
    assert "a scaffold makes a directory of files from another one" in problem.hint


@pytest.mark.parametrize(
    "properties",
    [
        {**DIRECTORY, "setgid": True, "sticky": False},
        {**DIRECTORY, "recurse": True, "file_mode": "0644"},
        {**DIRECTORY, "acl": ["d:u:7:r"], "xattrs": {}},
        {**DIRECTORY, "name": "/", "force": False},
        {**COMPLETE, "setgid": True, "capabilities": ""},
        {**LINK, "force": True},
        {**LINK, "owner": "7"},
        {**LINK, "target": "/", "meta": {"reverse": True}},
        {**COMPLETE, "template": "/t", "engine": "go", "data": {}},
        {**COMPLETE, "source": "https://h/f", "checksum": "0" * 64},
        {"name": "/x", "ensure": "absent", "force": True},
        {"name": "/x", "ensure": "absent", "template": "/t", "data": {}},
    ],
)
def test_what_a_type_of_file_can_have_is_no_problem(properties):
    assert list(File(**properties).property_problems()) == []


def test_the_hint_for_a_tree_that_must_be_absent_is_force():
    absent = the_problem(File, name="/x", ensure="absent", recurse=True)
    assert absent.hint == "write force: true to remove a directory with everything in it"
    assert the_problem(File, **COMPLETE, recurse=True).hint == "remove recurse"
