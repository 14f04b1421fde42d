"""From any world to any desired state: it is reached, or it is an error and nothing has changed."""

import os
import shutil
import tempfile
from pathlib import Path

import trio
from file_worlds import ME, MY_GROUP, look, make, picture
from hypothesis import given, settings
from hypothesis import strategies as st

from reactor.resource.plan import ResourceError

TEXTS = st.sampled_from(["", "x", "y\n", "long " * 100])
NEEDED = 0 if os.geteuid() == 0 else 0o700  # who is not root can't see what it may not open
MODES = st.integers(0, 0o777).map(lambda mode: mode | NEEDED)
THINGS = st.sampled_from(
    [
        "nothing",
        "file",
        "directory",
        "full",
        "link to file",
        "link to directory",
        "dangling",
        "loop",
        "fifo",
        "below a file",
    ]
)


def build(root: Path, thing: str, mode: int, text: str) -> Path:
    """Make a world, and return the path that is to be managed in it."""
    path = root / "f"
    (root / "target").write_text("target")
    (root / "targets" / "inner").mkdir(parents=True)
    if thing in ("file", "below a file"):
        path.write_text(text)
    elif thing in ("directory", "full"):
        path.mkdir()
    elif thing == "fifo":
        os.mkfifo(path)
    if thing == "full":
        (path / "inner").mkdir()
        (path / "link").symlink_to(root / "targets")
    links = {"link to file": "target", "link to directory": "targets", "dangling": "nowhere", "loop": "f"}
    if thing in links:
        path.symlink_to(links[thing])
    elif thing != "nothing":
        path.chmod(mode)
    return path / "g" if thing == "below a file" else path


WANTS = st.one_of(
    st.fixed_dictionaries({"ensure": st.just("present"), "content": TEXTS}),
    st.fixed_dictionaries(
        {"ensure": st.just("present"), "source": st.sampled_from(["target", "missing", "targets"])}
    ),
    st.just({"ensure": "present"}),
    st.just({"ensure": "directory"}),
    st.fixed_dictionaries({"ensure": st.just("absent"), "force": st.booleans()}),
)


@settings(max_examples=400)
@given(thing=THINGS, now=MODES, text=TEXTS, wants=WANTS, mode=MODES)
def test_every_world_converges_or_stays_as_it_is(thing, now, text, wants, mode):
    root = Path(tempfile.mkdtemp(prefix="reactor-file-", dir="/dev/shm"))
    try:
        path = build(root, thing, now, text)
        if "source" in wants:
            wants = {**wants, "source": str(root / wants["source"])}
        trio.run(converge_or_fail, root, make(path, mode=f"{mode:04o}", **wants))
    finally:
        shutil.rmtree(root)


async def converge_or_fail(root: Path, file) -> None:
    before = picture(root)
    aside = {root / "target", root / "targets", root / "targets" / "inner"}
    try:
        plan = await look(file)
        assert picture(root) == before
        for action in plan:
            await action.run()
    except ResourceError:
        after = picture(root)
        del before[str(root)], after[str(root)]  # a temporary file may have come and gone
        assert after == before
        return
    assert await file.verify() == ()
    after = picture(root)
    assert {str(path): after[str(path)] for path in aside} == {str(path): before[str(path)] for path in aside}
    expect(Path(file.name), file)
    assert not [name for name in after if name.endswith(".reactor")]


def expect(path: Path, file) -> None:
    """Look at the world with other eyes than those of the kind."""
    if file.ensure == "absent":
        assert not os.path.lexists(path)
        return
    found = path.stat()
    digits = oct(int(file.mode, 8) | 0o1000)[-3:]
    if file.ensure == "directory":
        digits = "".join("01335577"[int(digit)] for digit in digits)
    assert found.st_mode & 0o777 == int(digits, 8)
    assert (str(found.st_uid), str(found.st_gid)) == (ME, MY_GROUP)
    if file.ensure == "directory":
        assert path.is_dir()
    else:
        assert path.is_file()
    if os.access(path, os.R_OK):
        if file.content is not None:
            assert path.read_text() == file.content
        if file.source is not None:
            assert path.read_text() == Path(file.source).read_text()
