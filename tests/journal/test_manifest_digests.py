"""A reload makes the digests of the resources that differ; those of the others are known."""

from reactor.journal.digest import Digests, ManifestDigest
from reactor.resource.base import Resource
from reactor.resource.declared import Declared, declare
from reactor.resources.file.kind import File


def made(name: str, content: str = "x") -> File:
    file = File(name=name, ensure="present", content=content, owner="root", group="root", mode="0644")
    declare(file, Declared(f"file#{name}"))
    return file


def known(*resources: Resource) -> dict[str, tuple[Resource, str]]:
    return {each.ref: (each, Digests().of_desired(each)) for each in resources}


def digest_of(resources: list[Resource], known: dict[str, tuple[Resource, str]]) -> str:
    return ManifestDigest({each.ref: each for each in resources}, known).digest


def test_known_digests_make_the_digest_of_the_same_manifest():
    one, other = made("/tmp/a"), made("/tmp/b")
    assert digest_of([one, other], known(one)) == digest_of([other, one], {})


def test_a_known_digest_is_not_made_again():
    one = made("/tmp/a")
    forged = {one.ref: (one, "forged")}
    assert digest_of([one], forged) != digest_of([one], {})


def test_the_known_digest_of_another_version_does_not_count():
    before, after = made("/tmp/a"), made("/tmp/a", "y")
    assert digest_of([after], known(before)) == digest_of([after], {})


def test_the_digest_of_a_resource_that_differs_is_made_once():
    before, after = made("/tmp/a"), made("/tmp/a", "y")
    digests = Digests()
    digests.adopt(ManifestDigest({after.ref: after}, known(before)))
    assert digests.of_desired(after) == Digests().of_desired(after) != Digests().of_desired(before)
