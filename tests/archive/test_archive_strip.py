"""strip_components: the first components of each path are dropped, and nothing gets out by that."""

import os
import tarfile

import pytest
from archive_worlds import FILES, make, names_in, packed, sha256, tar_of, unpacked, zip_of
from one_shot import checked

from reactor.engine.events import Result

STRIPPED = {path.partition("/")[2]: content for path, content in FILES.items()}


def into(root, **more):
    return {
        "extract_parent": str(root / "opt"),
        "creates": str(root / "opt/bin/run"),
        "strip_components": 1,
        **more,
    }


def member(name, kind=tarfile.DIRTYPE, target=""):
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, target, 0o777
    return made


@pytest.mark.parametrize("form", ["tar.gz", "tar.zst", "zip"])
async def test_the_leading_directory_is_dropped(server, tmp_path, form):
    server.serve(packed(FILES, form))
    resource = make(tmp_path / f"app.{form}", server.url(name=f"x.{form}"), **into(tmp_path))
    check = await checked(resource)
    assert check.actions == ("downloaded the archive", f"unpacked it into {tmp_path}/opt")
    assert unpacked(tmp_path) == STRIPPED
    assert (await checked(resource)).result is Result.OK
    (tmp_path / "opt/bin/run").unlink()
    assert (await checked(resource)).actions[-1] == f"unpacked it into {tmp_path}/opt"
    assert unpacked(tmp_path) == STRIPPED


async def test_what_has_no_more_components_is_left_out(server, tmp_path):
    server.serve(
        tar_of({"./a/": member("./a/"), "top": b"top", "a/f": b"f", "./a/b/g": b"g", "a/b/c/h": b"h"})
    )
    await checked(
        make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path, strip_components=2, creates=None))
    )
    assert names_in(tmp_path / "opt") == ["c", "c/h", "g"]


async def test_noop_unpacks_nothing(server, tmp_path):
    server.serve(tar_of(FILES))
    check = await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)), noop=True)
    assert check.actions == ("Would have downloaded", "Would have extracted")
    assert names_in(tmp_path) == []
    assert server.asked == []


async def test_links_lead_to_what_they_led_to(server, tmp_path):
    links = {
        "a/hard": member("a/hard", tarfile.LNKTYPE, "a/bin/run"),
        "a/bin/soft": member("a/bin/soft", tarfile.SYMTYPE, "../f"),
    }
    server.serve(tar_of({"a/bin/run": b"run", "a/f": b"f", **links}))
    assert (
        await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)))
    ).result is Result.CHANGED
    opt = tmp_path / "opt"
    assert os.path.samefile(opt / "hard", opt / "bin/run")
    assert (opt / "bin/soft").read_bytes() == b"f"
    assert os.readlink(opt / "bin/soft") == "../f"


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        ({"../evil": b"x"}, "holds a path that leads out of its directory: '../evil'"),
        ({"a/../../evil": b"x"}, "holds a path that leads out of its directory"),
        ({"/evil": b"x"}, "holds a path that leads out of its directory"),
        ({"b/f": b"x"}, "holds 'b/f' twice"),
        ({"a/up": member("a/up", tarfile.SYMTYPE, "../evil")}, "leads out of its directory"),
        ({"a/l": member("a/l", tarfile.LNKTYPE, "top")}, "is not a file before it"),
        (
            {"a/l": member("a/l", tarfile.LNKTYPE, "../../etc/passwd")},
            "holds a path that leads out of its directory",
        ),
        ({"x": member("x", tarfile.SYMTYPE, "/etc"), "x/f": b"x"}, "holds 'x/f' twice"),
        ({"fifo": member("fifo", tarfile.FIFOTYPE)}, "neither file, directory nor link"),
    ],
)
async def test_what_is_dropped_hides_nothing(server, tmp_path, hostile, message):
    server.serve(tar_of({"top": b"top", "a/f": b"f", **hostile}))
    check = await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path, creates=None)))
    assert check.result is Result.FAILED
    assert message in check.error
    assert unpacked(tmp_path) == {}
    assert not (tmp_path / "evil").exists()


async def test_nothing_left_is_an_error(server, tmp_path):
    server.serve(zip_of(FILES))
    resource = make(
        tmp_path / "a.zip", server.url(name="a.zip"), **into(tmp_path, strip_components=3, creates=None)
    )
    check = await checked(resource)
    assert "nothing in the archive has more than 3 path components" in check.error
    assert check.hint == "lower strip_components"
    assert unpacked(tmp_path) == {}


async def test_a_directory_is_not_replaced_by_what_was_stripped(server, tmp_path):
    (tmp_path / "opt/README").mkdir(parents=True)
    server.serve(body := tar_of(FILES))
    check = await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path, checksum=sha256(body))))
    assert check.error.endswith("as a file or a link, and a directory is there")
    assert (tmp_path / "opt/README").is_dir()
    assert unpacked(tmp_path) == {}
