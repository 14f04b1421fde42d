"""A reload makes the digests of the resources that differ; those of the others are known."""

import pytest

from reactor.journal.digest import Digests, ManifestDigest, parse_digest, text_of
from reactor.resource.base import Resource
from reactor.resource.declared import Declared, declare
from reactor.resources.file.kind import File


def made(name: str, content: str = "x") -> File:
    file = File(name=name, ensure="present", content=content, owner="root", group="root", mode="0644")
    declare(file, Declared(f"file#{name}"))
    return file


def known(*resources: Resource) -> dict[str, tuple[Resource, int]]:
    return {each.ref: (each, Digests().of_desired(each)) for each in resources}


def digest_of(resources: list[Resource], known: dict[str, tuple[Resource, int]]) -> str:
    return ManifestDigest({each.ref: each for each in resources}, known).digest


def test_known_digests_make_the_digest_of_the_same_manifest():
    one, other = made("/tmp/a"), made("/tmp/b")
    assert digest_of([one, other], known(one)) == digest_of([other, one], {})


def test_a_known_digest_is_not_made_again():
    one = made("/tmp/a")
    forged = {one.ref: (one, 1)}
    assert digest_of([one], forged) != digest_of([one], {})


@pytest.mark.parametrize("digest", [0, 1, 2**128 - 1])
def test_a_digest_is_read_as_it_was_written(digest):
    assert len(text_of(digest)) == 32
    assert parse_digest(text_of(digest)) == digest


def test_a_text_that_is_no_digest_is_that_of_no_resource():
    assert parse_digest("damaged") not in range(2**128)


def test_the_known_digest_of_another_version_does_not_count():
    before, after = made("/tmp/a"), made("/tmp/a", "y")
    assert digest_of([after], known(before)) == digest_of([after], {})


def test_the_digest_of_a_resource_that_differs_is_made_once():
    before, after = made("/tmp/a"), made("/tmp/a", "y")
    digests = Digests()
    digests.adopt(ManifestDigest({after.ref: after}, known(before)))
    assert digests.of_desired(after) == Digests().of_desired(after) != Digests().of_desired(before)


def test_digests_stay_as_earlier_versions_wrote_them():
    """Otherwise every host would take its first drift after an upgrade for an edit of the manifest."""
    one = made("/tmp/a", "ä\n")
    assert text_of(Digests().of_desired(one)) == "583e6f9cc80c5e785b5b3903ecae3379"
    assert digest_of([one], {}) == "b178443f6e78464e56dfd92cd4bcae68"
