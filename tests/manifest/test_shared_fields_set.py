"""Resources share the set of properties that were given; an assignment to one resource changes no other."""

from reactor.resources.file.kind import File


def made(name: str) -> File:
    file = File(name=name, ensure="present", content="x", owner="root", group="root", mode="0644")
    file.share_fields_set()
    return file


def test_equal_sets_are_one_object():
    assert made("/tmp/a").model_fields_set is made("/tmp/b").model_fields_set


def test_an_assignment_concerns_one_resource_only():
    one, other = made("/tmp/a"), made("/tmp/b")
    one.force = True
    assert "force" in one.model_fields_set
    assert "force" not in other.model_fields_set
    assert "force" not in made("/tmp/c").model_fields_set


def test_a_copy_with_other_properties_has_its_own_set():
    one, other = made("/tmp/a"), made("/tmp/b")
    copied = one.model_copy(update={"force": True})
    assert "force" in copied.model_fields_set
    assert "force" not in other.model_fields_set
