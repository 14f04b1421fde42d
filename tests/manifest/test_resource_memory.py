"""A resource of a manifest holds only the properties that were given, and shares the set of their names."""

import sys

import pytest

from reactor.resource.class_defaults import remove_defaults
from reactor.resource.declared import Declared, declare, desires_the_same
from reactor.resources.file.kind import File


def made(name: str, kind: type[File] = File) -> File:
    file = whole(name, kind)
    file.save_memory()
    return file


def whole(name: str, kind: type[File] = File) -> File:
    file = kind(name=name, ensure="present", content="x", owner="root", group="root", mode="0644", acl=None)
    declare(file, Declared(f"file#{name}"))
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


def test_default_values_are_dropped_and_read_all_the_same():
    file = made("/tmp/a")
    assert "validate_with" not in file.__dict__
    assert (file.validate_with, file.require, file.engine, file.force) == (None, (), "jinja", False)
    assert "acl" in file.__dict__, "it was given"
    with pytest.raises(AttributeError, match="no_such_property"):
        _ = file.no_such_property


def test_an_assigned_value_replaces_a_dropped_one():
    file = made("/tmp/a")
    file.force = True
    assert file.force
    assert file.model_copy().force
    assert not desires_the_same(file, made("/tmp/a"))


def test_it_is_written_as_before():
    assert made("/tmp/a").model_dump() == whole("/tmp/a").model_dump()
    assert made("/tmp/a").model_dump_json() == whole("/tmp/a").model_dump_json()
    for options in ({"exclude_unset": True}, {"exclude_defaults": True}):
        assert made("/tmp/a").model_dump_json(**options) == whole("/tmp/a").model_dump_json(**options)


def test_it_desires_the_same_as_with_its_default_values():
    assert desires_the_same(made("/tmp/a"), whole("/tmp/a"))
    assert desires_the_same(whole("/tmp/a"), made("/tmp/a"))


def test_a_missing_property_of_an_undeclared_resource_has_no_value():
    file = File.model_construct(name="/tmp/a", ensure="present")
    remove_defaults(File)
    del file.__dict__["force"]
    with pytest.raises(AttributeError):
        _ = file.force


def test_the_class_holds_the_default_values_of_declared_resources(monkeypatch):
    file = made("/tmp/a")
    monkeypatch.setattr(File, "__getattr__", None)
    assert (file.validate_with, file.require, file.engine, file.force) == (None, (), "jinja", False)


def test_declared_resources_keep_their_default_values_while_the_class_has_none():
    file = made("/tmp/a")
    remove_defaults(File)
    assert (file.validate_with, file.require, file.engine, file.force) == (None, (), "jinja", False)


def test_a_subclass_of_a_kind_in_use_has_the_same_properties_and_defaults():
    file = made("/tmp/a")

    class Note(File, kind="note"):
        force: bool = True

    note = Note(name="/tmp/b", ensure="present", content="x", owner="root", group="root", mode="0644")
    assert list(Note.model_fields) == list(File.model_fields)
    declare(note, Declared("note#/tmp/b"))
    note.save_memory()
    made("/tmp/c")
    assert (note.force, note.engine, file.force) == (True, "jinja", False)


def test_resources_of_one_kind_share_the_table_of_the_names():
    class Fresh(File):
        """Its table is that of no resource of another test, which may have got its properties in another order."""

    # The tables of the first thirty have room for more names.
    one, other = [made(f"/tmp/{number}", Fresh) for number in range(40)][-2:]
    assert sys.getsizeof(one.__dict__) < sys.getsizeof({**one.__dict__}) - 50
    one.__dict__["_reconciler"] = None
    assert "_reconciler" not in other.__dict__
    assert [*other.__dict__] == ["name", "ensure", "content", "owner", "group", "mode", "acl", "declared"]
