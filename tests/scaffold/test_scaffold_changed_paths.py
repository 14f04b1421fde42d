"""What events were about is all that is looked at; what is in doubt is looked at as a whole."""

import pytest
from scaffold_worlds import converge, grow, look, make, tree

from reactor import ChangedPaths


@pytest.fixture
async def scaffold(tmp_path):
    grow(
        tmp_path / "templates", {"a": "1", "d/b": "{% include '_partials/p' %}", "c": "3", "_partials/p": "2"}
    )
    made = make(tmp_path, purge=True)
    await converge(made)
    return made


@pytest.fixture
def watched(scaffold, monkeypatch):
    """The scaffold, and a list that grows with every look at the whole tree."""
    looks = []
    plain = scaffold._look
    monkeypatch.setitem(scaffold.__dict__, "_look", lambda wish: looks.append(1) or plain(wish))
    return scaffold, looks


@pytest.mark.parametrize(
    ("change", "heard", "would"),
    [
        (lambda root: (root / "out/a").write_text("x"), "out/a", 1),
        (lambda root: (root / "out/d/b").unlink(), "out/d/b", 1),
        (lambda root: (root / "out/foreign").write_text("x"), "out/foreign", 1),
        (lambda root: (root / "templates/c").write_text("new"), "templates/c", 1),
        (lambda root: (root / "templates/_partials/p").write_text("new"), "templates/_partials/p", 1),
        (lambda root: None, "out/a", 0),
        (lambda root: None, "out/.a.0123456789ab.reactor", 0),
    ],
)
async def test_an_event_on_one_path_looks_at_that_path_only(watched, tmp_path, change, heard, would):
    scaffold, looks = watched
    change(tmp_path)
    scaffold._changed_paths.add(str(tmp_path / heard))
    assert [action.would for action in await look(scaffold)] == [
        f"Would have changed {would} scaffold files"
    ] * would
    assert looks == []
    scaffold._changed_paths.lose()
    await converge(scaffold)
    assert await look(scaffold) == ()
    assert "foreign" not in tree(tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "heard"),
    [
        (lambda root: grow(root / "out", {"new/x": "foreign"}), "out/new"),
        (lambda root: grow(root / "templates", {"new/x": "4"}), "templates/new"),
        (lambda root: grow(root / "templates", {"z": "4"}), "templates/z"),
        (lambda root: (root / "templates/c").unlink(), "templates/c"),
        (lambda root: (root / "out/a").write_text("x"), "out"),
    ],
)
async def test_what_one_path_does_not_report_is_looked_at_as_a_whole(watched, tmp_path, change, heard):
    scaffold, looks = watched
    change(tmp_path)
    scaffold._changed_paths.add(str(tmp_path / heard))
    assert len(await look(scaffold)) == 1
    assert looks == [1]


async def test_a_check_without_an_event_looks_at_everything(scaffold, tmp_path):
    (tmp_path / "out/a").write_text("x")
    assert len(await look(scaffold)) == 1


async def test_a_look_that_failed_is_made_again_as_a_whole(scaffold, tmp_path):
    grow(tmp_path / "templates", {"c": "{{ nope }}"})
    scaffold._changed_paths.add(str(tmp_path / "templates/c"))
    for _ in range(2):
        with pytest.raises(Exception, match="'nope' is undefined"):
            await look(scaffold)


async def test_a_template_that_changed_together_with_the_coming_of_another_is_rendered(scaffold, tmp_path):
    grow(tmp_path / "templates", {"a": "changed", "c": "changed", "new": "new"})
    for name in ("a", "new", "c"):
        scaffold._changed_paths.add(str(tmp_path / "templates" / name))
    await converge(scaffold)
    assert tree(tmp_path / "out") == {"a": "changed", "c": "changed", "d/b": "2", "new": "new"}


def test_too_many_paths_are_everything():
    heard = ChangedPaths()
    assert heard.take() is None
    heard.add("/a")
    assert heard.take() == {"/a"}
    assert heard.take() is None
    for number in range(2000):
        heard.add(f"/{number}")
    assert heard.take() is None
