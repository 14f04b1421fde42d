"""A scaffold under a running engine and the real kernel: what is looked at, rendered and written after one event."""

import os

import pytest
from scaffold_worlds import grow, make, tree

from reactor.engine.events import Checked, Result
from reactor.testing.story import running


@pytest.fixture
def rendered():
    """The names that templates have noted while they were rendered."""
    return []


@pytest.fixture
def noting(tmp_path, rendered):
    """A scaffold whose templates note it when they are rendered: ``{{ note('name') }}``."""
    return make(tmp_path, functions={"note": lambda name: rendered.append(name) or ""}, purge=True)


def inodes(root):
    return {str(path.relative_to(root)): path.stat().st_ino for path in root.rglob("*") if path.is_file()}


async def test_a_change_of_a_partial_renders_and_writes_exactly_what_uses_it(tmp_path, noting, rendered):
    grow(
        tmp_path / "templates",
        {
            "includes": "{{ note('includes') }}{% include '_partials/p' %}",
            "deep/down/renders": "{{ note('renders') }}{{ render('_partials/p', {}) }}",
            "through": "{{ note('through') }}{% include '_partials/q' %}",
            "other": "{{ note('other') }}",
            "_partials/p": "old",
            "_partials/q": "{% include '_partials/p' %}",
        },
    )
    users = {"includes", "deep/down/renders", "through"}
    async with running(noting) as story:
        await story.until(lambda: tree(tmp_path / "out"))
        await story.rest()
        assert sorted(rendered) == ["includes", "other", "renders", "through"]
        rendered.clear()
        before = inodes(tmp_path / "out")
        (tmp_path / "templates" / "_partials" / "p").write_text("new")
        await story.until(lambda: tree(tmp_path / "out") == {**dict.fromkeys(users, "new"), "other": ""})
        await story.rest()
        after = inodes(tmp_path / "out")
    assert sorted(rendered) == ["includes", "renders", "through"]
    assert {name for name in after if after[name] != before[name]} == users


@pytest.mark.parametrize("before", [{}, {f"d/{name}": name for name in "abc"}], ids=["made", "found"])
async def test_a_damaged_file_is_written_again_without_rendering_or_looking_around(
    tmp_path, noting, rendered, monkeypatch, before
):
    grow(tmp_path / "out", before)
    grow(tmp_path / "templates", {f"d/{name}": f"{{{{ note('{name}') }}}}{name}" for name in "abc"})
    async with running(noting) as story:
        await story.converged()
        await story.rest()
        rendered.clear()
        looks = []
        plain = noting._look
        monkeypatch.setitem(noting.__dict__, "_look", lambda wish: looks.append(1) or plain(wish))
        before = inodes(tmp_path / "out")
        (tmp_path / "out" / "d" / "b").write_text("damaged")
        await story.until(lambda: tree(tmp_path / "out") == {f"d/{name}": name for name in "abc"})
        await story.rest()
        after = inodes(tmp_path / "out")
    assert {name for name in after if after[name] != before[name]} == {"d/b"}
    assert rendered == looks == []


async def test_many_files_changed_at_once_are_verified_whatever_was_noticed_of_them_by_then(tmp_path):
    names = [f"{number % 7}/{number}" for number in range(150)]
    grow(tmp_path / "templates", {**dict.fromkeys(names, "{% include '_partials/p' %}"), "_partials/p": "0"})
    scaffold = make(tmp_path)
    async with running(scaffold) as story:
        for text in "0123":
            (tmp_path / "templates" / "_partials" / "p").write_text(text)
            await story.until(lambda wanted=text: tree(tmp_path / "out") == dict.fromkeys(names, wanted))
        await story.rest()
        assert {check.result for check in story.all(Checked)} <= {Result.CHANGED, Result.OK}


async def test_a_mode_that_drifts_is_set_again_and_nothing_is_written(tmp_path):
    grow(tmp_path / "templates", {"d/a": "a"})
    async with running(make(tmp_path, file_mode="0640", directory_mode="0750")) as story:
        await story.until(lambda: tree(tmp_path / "out"))
        await story.rest()
        before = inodes(tmp_path / "out")
        (tmp_path / "out" / "d" / "a").chmod(0o777)
        (tmp_path / "out" / "d").chmod(0o700)
        (tmp_path / "out").chmod(0o700)
        modes = {"": 0o750, "d": 0o750, "d/a": 0o640}
        await story.until(
            lambda: all(
                os.stat(tmp_path / "out" / path).st_mode & 0o777 == mode for path, mode in modes.items()
            )
        )
        assert inodes(tmp_path / "out") == before
