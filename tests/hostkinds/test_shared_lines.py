"""Files of which resources, users and other programs own lines: nothing that another one writes is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactor.hostfs import Attributes
from reactor.resource.plan import ResourceError
from reactor.resources import shared_lines

NEW = Attributes(0, 0, 0o644)


async def test_what_another_program_writes_meanwhile_is_kept(tmp_path):
    path = tmp_path / "lines"
    path.write_text("first\n")
    meanwhile = iter(["theirs\n", "theirs, too\n"])

    def change(lines):
        if (line := next(meanwhile, None)) is not None:
            with path.open("a") as file:
                file.write(line)
        return shared_lines.with_line(lines, b"ours")

    await shared_lines.edit(str(path), [change], NEW)
    assert path.read_text() == "first\ntheirs\ntheirs, too\nours\n"
    assert list(tmp_path.iterdir()) == [path]


async def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "lines"

    def change(lines):
        if not path.exists():
            path.write_text("theirs\n")
        return shared_lines.with_line(lines, b"ours")

    await shared_lines.edit(str(path), [change], NEW)
    assert path.read_text() == "theirs\nours\n"


async def test_a_file_that_never_rests_is_an_error_and_stays_theirs(tmp_path):
    path = tmp_path / "lines"
    path.write_text("")

    def change(lines):
        with path.open("a") as file:
            file.write("theirs\n")
        return shared_lines.with_line(lines, b"ours")

    with pytest.raises(ResourceError, match="another program changed"):
        await shared_lines.edit(str(path), [change], NEW)
    assert set(path.read_text().splitlines()) == {"theirs"}


@pytest.mark.parametrize("size", [0, 1, 3])
def test_lines_are_split_at_newlines_only_and_joined_as_they_were(size, tmp_path):
    data = b"\n".join([b"a\rb\x0b\x1c\xff"] * size)
    path = Path(tmp_path, "lines")
    path.write_bytes(data)
    found = shared_lines.find(str(path))
    assert b"".join(found.lines) == data
    assert len(found.lines) == size


async def test_a_dangling_symlink_gives_way_to_the_file(tmp_path):
    path = tmp_path / "lines"
    path.symlink_to("nowhere")
    await shared_lines.edit(str(path), [lambda lines: shared_lines.with_line(lines, b"ours")], NEW)
    assert path.read_text() == "ours\n"
    assert not path.is_symlink()
    assert not (tmp_path / "nowhere").exists()
