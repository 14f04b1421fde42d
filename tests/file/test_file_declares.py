"""What a file tells the rest of the program: what it needs, makes and watches, and what it wants of its path."""

import os
import stat

import pytest
from file_worlds import converge, make, mode_of

from reactor import Claim, PathWatch, ResourceError, SandboxAccess
from reactor.resources.file import File


def a_link(path="/a/l", target="t", **more):
    return File(name=str(path), ensure="link", target=target, **more)


def absent(path="/a/b", **more):
    return File(name=str(path), ensure="absent", **more)


@pytest.mark.parametrize(
    ("file", "needs"),
    [
        (make("/a/b", content="x"), ["/a"]),
        (make("/b", content="x"), ["/"]),
        (make("/", ensure="directory"), []),
        (make("/a/b", content="x", owner="app", group="web"), ["/a", "user#app", "group#web"]),
        (make("/a/b", content="x", acl=["u:ada:r", "g:ops:r"]), ["/a", "user#ada", "group#ops"]),
        (a_link("/a/l", "../c/./d"), ["/a", "/c/d"]),
        (a_link("/a/l", "/c"), ["/a", "/c"]),
        (absent("/a/b"), ["/a"]),
        (absent("/a/b", source="/c"), ["/a"]),
    ],
)
def test_a_file_needs_its_directory_its_source_and_its_accounts(file, needs):
    assert list(file.relations().depends_on) == needs


def test_only_a_tree_is_told_what_others_manage_in_it():
    tree = make("/a", ensure="directory", recurse=True)
    assert tree.relations().purges == "/a"
    assert make("/a", ensure="directory").relations().purges is None


@pytest.mark.parametrize(
    ("file", "missing", "might"),
    [
        (make("/a/b", content="x"), "/a/b", True),
        (make("/a/b", content="x"), "/a", True),
        (make("/a/b", content="x"), "/a/bc", False),
        (make("/a/b", content="x"), "/a/b/c", False),
        (make("/a/b", ensure="directory"), "/a/b", True),
        (make("/a/b", ensure="directory"), "/a", True),
        (make("/a/b", ensure="directory"), "/a/bc", False),
        (make("/a/bc", ensure="directory"), "/a/b", False),
        (make("/a/b", ensure="directory"), "/a/b/c", False),
        (absent("/a/b"), "/a/b", False),
        (make("/a/b", content="x"), "user#app", False),
        (make("/a/b", content="x"), "group#app", False),
        (make("/a/b", content="x"), "package#nginx", True),
        (absent("/a/b"), "package#nginx", True),
    ],
)
def test_a_file_might_provide_its_path_and_what_is_no_path_and_no_account(file, missing, might):
    assert file.might_provide(missing) is might


@pytest.mark.parametrize(
    ("file", "more"),
    [
        (make("/a", content="x"), set()),
        (make("/a", content="x", setgid=True), {SandboxAccess.SETGID}),
        (make("/a", content="x", setgid=False), set()),
        (make("/a", ensure="directory"), {SandboxAccess.SETGID}),
        (absent("/a"), set()),
        (make("/a", xattrs={"user.a": "b"}), set()),
        (make("/a", xattrs={"user.a": "b", "trusted.a": "b"}), {SandboxAccess.ANYTHING}),
        (make("/a", content="x", validate="true {path}"), {SandboxAccess.ANYTHING}),
    ],
)
def test_a_sandbox_needs_more_than_the_path_for_some_properties_only(file, more):
    assert set(file.sandbox_access()) == {"/a", *more}


@pytest.mark.parametrize(
    ("file", "watched"),
    [
        (make("/a", source="/c"), [PathWatch("/a"), PathWatch("/c", is_input=True)]),
        (make("/a", template="/t"), [PathWatch("/a"), PathWatch("/t", is_input=True)]),
        (absent("/a", source="/c"), [PathWatch("/a")]),
        (a_link("/a"), [PathWatch("/a")]),
    ],
)
def test_a_file_watches_its_path_and_its_inputs(file, watched):
    assert list(file.watches()) == watched


def test_the_watches_of_a_template_move_and_a_tree_hears_of_each_path_in_it():
    file, tree = make("/a", template="/t"), make("/a", ensure="directory", recurse=True)
    for each in (file, tree):
        list(each.watches())
    assert file.has_moving_watches
    assert not tree.has_moving_watches
    assert list(tree.watches()) == [PathWatch("/a", tree.changed_paths)]


MANAGED = {"owner": "1", "group": "2", "mode": "0644"}
WANTED = {"owner": "1", "group": "2", "mode": 0o644}


@pytest.mark.parametrize(
    ("properties", "desired"),
    [
        ({"ensure": "present"}, WANTED),
        ({"ensure": "present", "content": "x"}, {**WANTED, "content": "x"}),
        ({"ensure": "present", "source": "/c"}, {**WANTED, "content": ("copied from", "/c")}),
        (
            {"ensure": "present", "template": "/t", "data": {"a": 1}},
            {**WANTED, "content": ("rendered from", "/t", {"a": 1})},
        ),
        ({"ensure": "present", "setgid": True}, {**WANTED, "setgid": True}),
        ({"ensure": "present", "acl": ["u:7:r"]}, {**WANTED, "acl": ("u:7:r",)}),
        ({"ensure": "present", "xattrs": {"user.a": None}}, {**WANTED, "xattrs": {"user.a": None}}),
        ({"ensure": "present", "capabilities": ""}, {**WANTED, "capabilities": ""}),
        ({"ensure": "directory"}, {**WANTED, "mode": 0o755}),
        (
            {"ensure": "directory", "sticky": True, "setgid": False},
            {**WANTED, "mode": 0o755, "sticky": True, "setgid": False},
        ),
        (
            {"ensure": "directory", "recurse": True, "file_mode": "0600"},
            {**WANTED, "mode": 0o755, "recurse": True, "file_mode": "0600"},
        ),
        ({"ensure": "link", "target": "t"}, {"owner": "1", "group": "2", "target": "t"}),
        ({"ensure": "link", "target": "t", "group": None}, {"owner": "1", "target": "t"}),
        ({"ensure": "absent"}, {}),
    ],
)
def test_a_file_claims_what_it_manages_of_its_path(properties, desired):
    file = File(**{"name": "/f", **MANAGED, **properties})
    assert list(file.claims()) == [Claim("path", "/f", {"ensure": properties["ensure"], **desired})]


@pytest.mark.parametrize("ensure", ["present", "directory"])
def test_in_a_shell_a_new_file_is_of_the_user_and_an_old_one_keeps_what_it_has(tmp_path, ensure):
    mine = {"owner": str(os.geteuid()), "group": str(os.getegid())}
    new = File.shell_defaults(str(tmp_path / "new"), ensure)
    assert new == {**mine, "mode": "0755" if ensure == "directory" else "0644"}
    assert File.shell_defaults("/a\0b", ensure) == new
    (tmp_path / "old").touch()
    os.chown(tmp_path / "old", 7, 8)
    (tmp_path / "old").chmod(0o6104)
    assert File.shell_defaults(str(tmp_path / "old"), ensure) == {"owner": "7", "group": "8", "mode": "0104"}


@pytest.mark.parametrize("ensure", ["absent", "link"])
def test_in_a_shell_what_is_absent_or_a_link_has_no_attributes_by_itself(tmp_path, ensure):
    assert File.shell_defaults(str(tmp_path), ensure) == {}


async def test_what_is_there_is_described_by_its_type(tmp_path):
    (tmp_path / "f").write_text("x")
    os.mkfifo(tmp_path / "p", 0o600)
    (tmp_path / "d").mkdir()
    found = {name: await absent(tmp_path / name).describe() for name in ("f", "p", "d", "none")}
    assert {name: each["ensure"] for name, each in found.items()} == {
        "f": "present", "p": "a FIFO", "d": "directory", "none": "absent",
    }  # fmt: skip
    assert [name for name, each in found.items() if "checksum" in each] == ["f"]
    assert found["p"] == {"ensure": "a FIFO", "owner": "root", "group": "root", "mode": "0600"}


def test_only_a_download_that_is_used_is_warned_about():
    url = {"source": "http://example.org/f"}
    assert len(list(make("/a", **url).warnings())) == 1
    assert list(absent("/a", **url).warnings()) == []
    assert list(make("/a", source="/c").warnings()) == []
    assert list(make("/a", **url, checksum="0" * 64).warnings()) == []


async def undo_of(file):
    return await file.reversal(await file.observe())


@pytest.mark.parametrize("kind", ["nothing", "file", "directory", "link"])
async def test_what_was_there_comes_back_with_its_attributes(tmp_path, kind):
    path = tmp_path / "p"
    if kind == "link":
        path.symlink_to("old")
    elif kind != "nothing":
        path.mkdir() if kind == "directory" else path.touch()
        path.chmod(0o2750)
        os.chown(path, 7, 8)
        path.chmod(0o2750)
    wanted = (
        a_link(path, "new")
        if kind == "link"
        else make(path, ensure="directory" if kind == "directory" else "present")
    )
    undone = await undo_of(wanted)
    await converge(wanted)
    await converge(undone)
    if kind == "nothing":
        assert not path.exists()
    else:
        found = path.lstat()
        assert (found.st_uid, found.st_gid) == ((0, 0) if kind == "link" else (7, 8))
        assert kind == "link" or mode_of(path) == 0o2750


async def test_a_removed_directory_comes_back_without_what_it_never_had(tmp_path):
    path = tmp_path / "d"
    path.mkdir(0o700)
    undone = await undo_of(absent(path, force=True))
    await converge(absent(path, force=True))
    tmp_path.chmod(0o2755)
    await converge(undone)
    assert mode_of(path) == 0o700


@pytest.mark.parametrize(
    ("kind", "ensure", "words"),
    [
        ("fifo", "present", "is a FIFO, which reverse could not restore"),
        ("directory", "present", "is a directory, which reverse could not restore"),
        ("file", "directory", "is a regular file, which reverse could not restore"),
        ("fifo", "absent", "is a FIFO, which reverse could not restore"),
        ("sticky", "present", "the setuid or sticky bit of"),
        ("setuid", "present", "the setuid or sticky bit of"),
    ],
)
async def test_what_could_not_be_brought_back_is_refused_before(tmp_path, kind, ensure, words):
    path = tmp_path / "p"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.touch()
        path.chmod(0o644 | {"sticky": stat.S_ISVTX, "setuid": stat.S_ISUID}.get(kind, 0))
    file = absent(path) if ensure == "absent" else make(path, ensure=ensure)
    with pytest.raises(ResourceError, match=words):
        await undo_of(file)


async def test_a_link_has_its_target_as_output_and_a_file_its_checksum(tmp_path):
    (tmp_path / "f").write_text("x")
    (tmp_path / "l").symlink_to("f")
    assert await a_link(tmp_path / "l", "f").outputs() == {"path": f"{tmp_path}/l", "target": "f"}
    found = await make(tmp_path / "f", content="x").outputs()
    assert found["checksum"] == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


def test_files_without_a_template_do_not_depend_on_the_data_of_the_manifest():
    plain, other = make("/a", content="x"), make("/a", template="/t")
    assert plain.has_same_inputs(make("/a", content="y"))
    assert plain.has_same_inputs(other)
    assert other.has_same_inputs(plain)


@pytest.mark.parametrize(
    ("name", "content", "is_warned_of"),
    [
        ("/a", "{% if x %}y{% endif %}", True),
        ("/a", "{%- for each in all -%}\ny\n{%- endfor -%}", True),
        ("/a.j2", "{% if x %}y{% endif %}", False),
        ("/a", "log_format main %t {% x %}", False),
        ("/a", "curl -w '%{http_code}'", False),
    ],
)
def test_statements_of_jinja_in_the_content_are_written_with_a_warning(name, content, is_warned_of):
    found = [problem.path for problem in make(name, content=content).warnings()]
    assert found == ([("content",)] if is_warned_of else [])
    assert list(absent(name).warnings()) == []


@pytest.mark.parametrize(
    ("name", "properties", "path"),
    [
        ("/etc/app.conf", {"source": "/srv/app.conf.j2"}, ("source",)),
        ("/etc/app.conf.j2", {"source": "/srv/app.conf.j2"}, None),
        ("/etc/app.conf", {"template": "/srv/app.conf.j2"}, None),
        ("/etc/app.conf", {"template": "/srv/app.conf.erb"}, ("template",)),
    ],
)
def test_a_template_that_would_be_copied_or_read_as_another_language_is_warned_of(name, properties, path):
    found = [problem.path for problem in make(name, **properties).warnings()]
    assert found == ([path] if path else [])
