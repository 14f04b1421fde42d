"""Resources that could never both be as desired are refused when the manifest is loaded."""

import pytest
from graph_samples import Path, Thing, built

from reactor.errors import Place
from reactor.loading import load
from reactor.resource.diagnostic import ManifestError
from reactor.resource.relations import Claim


class Owner(Thing, kind="owner"):
    """Claims the path ``text`` with a mode, as a third party's kind may."""

    mode: str = "0644"

    def claims(self):
        yield Claim("path", self.text, {"ensure": self.ensure, "mode": self.mode})


class Other(Owner, kind="other"):
    """Another kind that claims the same way."""


class Unit(Thing, kind="unit"):
    """Claims something in another space."""

    def claims(self):
        yield Claim("unit", self.text, {"mode": "enabled"})


class Managed(Path, kind="managed"):
    """A path that is claimed as the file kind claims it."""

    def claims(self):
        yield Claim("path", self.name, {"ensure": self.ensure})


def problems(*resources, ordering="graph"):
    return built(*resources, ordering=ordering)[1]


@pytest.mark.parametrize("ordering", ["graph", "manifest"])
def test_two_that_want_different_values_are_reported_with_both_places(ordering):
    first = Owner(name="a", text="/etc/{x}", mode="0600")
    (problem,) = problems(first, Thing(name="t"), Other(name="b", text="/etc/{x}"), ordering=ordering)
    assert problem.message == "owner#a and other#b do not agree on mode of the path /etc/{x}"
    assert problem.place == Place("site.yaml", 3, 2)
    assert problem.notes == (("owner#a is declared here", Place("site.yaml", 1, 2)),)
    assert problem.hint == "remove one of them, or make both declare the same"


def test_all_attributes_in_dispute_are_one_problem():
    (problem,) = problems(
        Owner(name="a", text="/f", mode="0600"), Other(name="b", text="/f", ensure="absent")
    )
    assert "do not agree on ensure and mode of the path /f" in problem.message


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param([Owner(name="a", text="/f"), Other(name="b", text="/f")], id="the same values"),
        pytest.param([Owner(name="a", text="/f"), Owner(name="b", text="/g", mode="0")], id="other paths"),
        pytest.param([Owner(name="a", text="/f"), Unit(name="b", text="/f")], id="other spaces"),
        pytest.param([Owner(name="a", text="/f"), Managed(name="/f")], id="one says less"),
        pytest.param([Managed(name="/f"), Thing(name="t", providing=("/f",))], id="made but not claimed"),
    ],
)
def test_what_agrees_is_no_problem(resources):
    assert problems(*resources) == []


@pytest.mark.parametrize("removed", ["/a/b", "/a", "/"])
def test_what_is_to_be_below_a_directory_that_goes_is_a_problem(removed):
    gone, kept = Managed(name=removed, ensure="absent"), Managed(name="/a/b/c")
    for resources in ([gone, kept], [kept, gone]):
        (problem,) = problems(*resources)
        assert problem.message == f"managed#{removed} removes {removed}, and managed#/a/b/c needs /a/b/c"
        assert problem.place.line == resources.index(kept) + 1
        assert [place.line for _, place in problem.notes] == [resources.index(gone) + 1]


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param([Managed(name="/a/b", ensure="absent")], id="absent below absent"),
        pytest.param([Managed(name="/ab/c")], id="a neighbour"),
        pytest.param([Thing(name="t", providing=("/a/b",))], id="a command that makes it on the way"),
        pytest.param([Managed(name="/")], id="above"),
    ],
)
def test_what_goes_with_a_removal_is_no_problem(resources):
    assert problems(Managed(name="/a", ensure="absent"), *resources) == []


def test_a_manifest_that_contradicts_itself_is_shown_where_it_does(tmp_path):
    own = "owner: root, group: root"
    manifest = tmp_path / "site.yaml"
    manifest.write_text(
        f"""\
resources:
  - file:
      - /srv/old: {{ensure: absent, force: true}}
      - /srv/old/keep: {{ensure: present, content: x, {own}, mode: "0644"}}
      - /srv/old/broken: {{ensure: present, content: x}}
  - exec:
      - touch /srv/old/made: {{creates: /srv/old/made}}
"""
    )
    with pytest.raises(ManifestError) as refused:
        load(str(manifest))
    found = {problem.message: problem for problem in refused.value.diagnostics}
    problem = found.pop("file#/srv/old removes /srv/old, and file#/srv/old/keep needs /srv/old/keep")
    assert str(problem.place) == f"{manifest}:4:33"
    assert [str(place) for _, place in problem.notes] == [f"{manifest}:3:28"]
    assert all("are required" in message for message in found)


def refusal(tmp_path, resources):
    (tmp_path / "site.yaml").write_text(f"resources:\n{resources}")
    with pytest.raises(ManifestError) as invalid:
        load(str(tmp_path / "site.yaml"))
    return str(invalid.value)


FILE = 'ensure: present, content: x, owner: root, group: root, mode: "0644"'
EMPTY = FILE.replace("content: x, ", "")
DIRECTORY = 'ensure: directory, owner: root, group: root, mode: "0755"'


@pytest.mark.parametrize(
    ("maker", "needed"),
    [
        (f"file: [/srv/d: {{{FILE}}}]", f"file: [/srv/d/e/f: {{{FILE}}}]"),
        (f"file: [/srv/d: {{{EMPTY}}}]", f"file: [/srv/d/e/f: {{{FILE}}}]"),
        (f"file: [/srv/d: {{{FILE}}}]", "tidy: [/srv/d/e: {age: 1d}]"),
        (f"file: [/srv/d: {{{FILE}}}]", "exec: [e: {command: touch /srv/d/f, creates: /srv/d/f}]"),
        (f"file: [/srv/d: {{{FILE}}}]", "scaffold: [/srv/d/e: {ensure: present, source: /usr/share/dict}]"),
        ("line: [l: {path: /srv/d, line: two}]", f"file: [/srv/d/f: {{{DIRECTORY}}}]"),
        ("line: [l: {path: /srv/d, line: two, ensure: absent}]", f"file: [/srv/d/f: {{{DIRECTORY}}}]"),
    ],
)
def test_what_is_below_a_path_that_another_makes_a_file_is_a_problem(tmp_path, maker, needed):
    told = refusal(tmp_path, f"  - {needed}\n  - {maker}\n")
    assert "needs /srv/d as a directory, and " in told
    assert " makes it a file" in told


@pytest.mark.parametrize(
    "above",
    [DIRECTORY, "ensure: link, target: /srv/other", "ensure: link, target: e, force: true"],
)
def test_what_is_below_a_directory_or_a_link_is_no_problem(tmp_path, above):
    (tmp_path / "site.yaml").write_text(
        f"resources:\n  - file:\n      - /srv/d: {{{above}}}\n      - /srv/d/f: {{{FILE}}}\n"
    )
    assert len(load(str(tmp_path / "site.yaml")).graph.resources) == 2


@pytest.mark.parametrize("source", ["source: /srv/d", "template: /srv/d"])
def test_a_source_that_another_makes_a_directory_is_a_problem(tmp_path, source):
    copy = f'ensure: present, {source}, owner: root, group: root, mode: "0644"'
    told = refusal(tmp_path, f"  - file:\n      - /srv/d: {{{DIRECTORY}}}\n      - /srv/f: {{{copy}}}\n")
    assert "file#/srv/f reads /srv/d as a file, and file#/srv/d makes it a directory" in told


def test_to_edit_what_another_makes_a_directory_is_a_problem(tmp_path):
    line = "line: [l: {path: /srv/d, line: two, ensure: absent}]"
    told = refusal(tmp_path, f"  - file: [/srv/d: {{{DIRECTORY}}}]\n  - {line}\n")
    assert "file#/srv/d and line#l do not agree on ensure of the path /srv/d" in told


@pytest.mark.parametrize("is_there", [True, False])
def test_to_edit_through_a_link_what_another_manages_is_a_problem(tmp_path, is_there):
    (tmp_path / "link").symlink_to("other")
    (tmp_path / "other").symlink_to(tmp_path / "file")
    if is_there:
        (tmp_path / "file").touch()
    line = f"line: [l: {{path: {tmp_path}/link, line: two}}]"
    told = refusal(tmp_path, f"  - file: [{tmp_path}/file: {{{FILE}}}]\n  - {line}\n")
    words = f"do not agree on content of {tmp_path}/file, to which {tmp_path}/link leads"
    assert f"file#{tmp_path}/file and line#l {words}" in told


def test_two_edits_of_one_file_by_two_names_are_no_problem(tmp_path):
    (tmp_path / "link").symlink_to("file")
    lines = "".join(
        f"      - {name}: {{path: {tmp_path}/{name}, line: {name}}}\n" for name in ("link", "file")
    )
    (tmp_path / "site.yaml").write_text(f"resources:\n  - line:\n{lines}")
    assert len(load(str(tmp_path / "site.yaml")).graph.resources) == 2


@pytest.mark.parametrize("other", [FILE, "ensure: link, target: /srv/other"])
def test_to_tidy_what_another_makes_no_directory_is_a_problem(tmp_path, other):
    told = refusal(tmp_path, f"  - file: [/srv/d: {{{other}}}]\n  - tidy: [/srv/d: {{age: 1h}}]\n")
    assert "file#/srv/d and tidy#/srv/d do not agree on ensure of the path /srv/d" in told
