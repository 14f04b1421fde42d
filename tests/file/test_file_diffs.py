"""What people are shown of a change."""

from difflib import unified_diff
from pathlib import Path

import pytest
from file_worlds import ME, MY_GROUP, look, make

from reactor.hostfs.diff import _body


async def diff_of(file) -> str:
    (action,) = await look(file)
    return await (await action.diff())()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "f"
    path.write_text("one\ntwo\nthree\n")
    path.chmod(0o644)
    return path


async def test_a_change_of_content_is_a_unified_diff(path: Path):
    assert await diff_of(make(path, content="one\n2\nthree\n")) == (
        f"--- {path}\n+++ {path}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    )


async def test_a_change_of_attributes_is_shown_as_lines(path: Path):
    path.chmod(0o600)
    assert await diff_of(make(path)) == f"--- {path}\n+++ {path}\n-mode: 0600\n+mode: 0644\n"
    assert await diff_of(make(path, content="one\ntwo\n")) == (
        f"--- {path}\n+++ {path}\n-mode: 0600\n+mode: 0644\n@@ -1,3 +1,2 @@\n one\n two\n-three\n"
    )


async def test_a_new_file_and_a_new_directory_are_shown_whole(path: Path):
    new = path.parent / "new"
    owners = f"+owner: {ME}\n+group: {MY_GROUP}\n"
    attributes = f"{owners}+mode: 0644\n"
    assert await diff_of(make(new, content="a\nb\n")) == (
        f"--- /dev/null\n+++ {new}\n{attributes}@@ -0,0 +1,2 @@\n+a\n+b\n"
    )
    assert await diff_of(make(new)) == f"--- /dev/null\n+++ {new}\n{attributes}"
    assert await diff_of(make(new, ensure="directory")) == f"--- /dev/null\n+++ {new}\n{owners}+mode: 0755\n"


async def test_a_removed_file_is_shown_whole(path: Path):
    path.write_text("a\n")
    assert await diff_of(make(path, ensure="absent")) == f"--- {path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"


async def test_a_missing_newline_at_the_end_is_shown(path: Path):
    path.write_text("a")
    assert (await diff_of(make(path, content="a\n"))).endswith(
        "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
    )


async def test_only_a_newline_ends_a_line(path: Path):
    path.write_text("a\x0cb\u2028c\r\n")
    assert (await diff_of(make(path, content="a\n"))).endswith("@@ -1 +1 @@\n-a\x0cb\u2028c\r\n+a\n")


@pytest.mark.parametrize("old", [b"\x00binary", b"\xff\xfe"])
async def test_binary_content_is_summed_up(path: Path, old: bytes):
    path.write_bytes(old)
    shown = await diff_of(make(path, content="text"))
    assert shown == f"--- {path}\n+++ {path}\nContent differs: {len(old)} bytes before, 4 bytes after\n"


async def test_large_content_is_summed_up(path: Path):
    path.write_text("x" * 2_000_000)
    shown = await diff_of(make(path, content="text"))
    assert shown.endswith("Content differs: more than 1048576 bytes before, 4 bytes after\n")


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("a\0", "Content differs: 0 bytes before, 2 bytes after\n"),
        ("é" * (1 << 20), "Content differs: 0 bytes before, more than 1048576 bytes after\n"),
        ("é\n" * (1 << 14), "@@ -0,0 +1,16384 @@\n" + "+é\n" * (1 << 14)),
        ("a", "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"),
    ],
    ids=["binary", "large", "long", "unfinished"],
)
async def test_the_content_of_a_new_file_is_shown_or_summed_up(path: Path, content: str, shown: str):
    head, _, body = (await diff_of(make(path.parent / "new", content=content))).partition("+mode: 0644\n")
    assert head.startswith(f"--- /dev/null\n+++ {path.parent}/new\n")
    assert body == shown


async def test_the_diff_of_a_replaced_symlink_does_not_show_its_target(path: Path):
    link = path.parent / "link"
    link.symlink_to(path)
    shown = await diff_of(make(link, content="a\n"))
    assert shown.startswith(f"--- /dev/null\n+++ {link}\n")
    assert "one" not in shown


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "a\nb\n", "\n", "a\n\n"])
def test_all_that_is_new_or_gone_is_shown_as_difflib_shows_it(text):
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    lines += [last] if last else []
    for old, new in ((b"", text.encode()), (text.encode(), b"")):
        hunks = list(unified_diff(lines if old else [], lines if new else [], n=3))[2:]
        shown = [each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in hunks]
        assert "".join(_body(old, new)) == "".join(shown)
