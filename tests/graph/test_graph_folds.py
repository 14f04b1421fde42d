"""Which resources are one box, and that boxes of a circle are split."""

from hypothesis import given
from hypothesis import strategies as st

from reactor.graph.export.folds import FROM, Fold, Member, boxes, contracted, folds
from reactor.graph.graph import EdgeKind
from reactor.graph.topology import topological_order


def named(*names, kind="file", manifest="/site.yaml"):
    return [Member(f"{kind}#{name}", kind, name, manifest) for name in names]


def test_few_resources_are_never_folded():
    assert folds(named(*(f"/etc/{number}" for number in range(FROM - 1)))) == [[]] * (FROM - 1)


def test_files_fold_by_directory_others_by_kind_and_those_of_a_child_by_its_manifest():
    vertices = [
        *named(*(f"/etc/a/{number}" for number in range(60))),
        *named(*(f"/etc/b/{number}" for number in range(60))),
        *named("nginx", "sshd", "cron", kind="service"),
        *named("/etc/a/x", "one", "two", kind="exec", manifest="/child.yaml"),
        *named("alone", kind="user"),
    ]
    found = folds(vertices)
    names = [[fold.name for fold in each] for each in found]
    assert names[0] == ["file /etc/a"]
    assert names[60] == ["file /etc/b"]
    assert names[120:] == [["service"]] * 3 + [["manifest /child.yaml"]] * 3 + [[]]


def test_directories_that_no_window_holds_are_one_box_that_opens_to_them():
    found = folds(named(*(f"/srv/{number % 100}/{number}" for number in range(500))))
    assert [fold.name for fold in found[7]] == ["file /srv", "file /srv/7"]
    edges = [{} for _ in found]
    assert len(boxes(found, edges, [])) == 1
    assert len(boxes(found, edges, ["file /srv"])) == 100
    assert len(boxes(found, edges, ["file /srv", "file /srv/7"])) == 104


def test_a_directory_of_one_or_two_is_part_of_the_one_above():
    found = folds(named("/srv/one/file", *(f"/srv/{number}" for number in range(FROM))))
    assert [[fold.name for fold in each] for each in found] == [["file /srv"]] * (FROM + 1)


def test_an_open_fold_is_drawn_one_by_one_and_a_star_opens_all():
    found = folds(named(*(f"/etc/{'ab'[number % 2]}/{number}" for number in range(FROM))))
    edges = [{} for _ in found]
    assert len(boxes(found, edges, [])) == 2
    assert len(boxes(found, edges, ["file /etc/a"])) == FROM // 2 + 1
    assert len(boxes(found, edges, ["*"])) == FROM


@given(
    st.lists(st.sampled_from("abc"), min_size=2, max_size=14).flatmap(
        lambda kinds: st.tuples(
            st.just(kinds),
            st.sets(st.tuples(st.integers(0, len(kinds) - 1), st.integers(0, len(kinds) - 1)), max_size=30),
        )
    )
)
def test_boxes_never_go_in_a_circle_and_hold_each_resource_once(made):
    kinds, pairs = made
    outgoing = [{} for _ in kinds]
    for first, second in pairs:
        if first < second:
            outgoing[first][second] = EdgeKind.REQUIRE
    drawn = boxes([[Fold(kind, ())] for kind in kinds], outgoing, [])
    assert sorted(vertex for box in drawn for vertex in box.members) == list(range(len(kinds)))
    order = topological_order([list(seconds) for seconds in contracted(drawn, outgoing)])
    assert sorted(order) == list(range(len(drawn)))
