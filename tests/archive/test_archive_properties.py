"""What an archive resource takes, what it refuses, and what it says of itself."""

import pytest
from archive_worlds import ME, make
from property_problems import problems

from reactor import PathWatch
from reactor.resource.declared import declare
from reactor.resource.redaction import MASK, redact
from reactor.resources.archive import Archive

URL = "http://host/app.tar.gz"
WHOLE = {"name": "/tmp/app.tar.gz", "ensure": "present", "url": URL, **ME}


def told(**properties):
    found = problems(Archive, **properties)
    return "\n".join(f"{'.'.join(map(str, path))}: {message}" for path, message, _ in found)


@pytest.mark.parametrize("name", ["name", "ensure", "url", "owner", "group"])
@pytest.mark.parametrize("ensure", ["present", "absent"])
def test_what_is_required_is_required_whatever_is_ensured(name, ensure):
    properties = {**WHOLE, "ensure": ensure}
    del properties[name]
    assert f"{name}: Field required" in told(**properties)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "must not be empty"),
        ("host/app.tar.gz", "must be absolute"),
        ("ftp://host/app.tar.gz", "start with http:// or https://"),
        ("file:///app.tar.gz", "start with http:// or https://; for file://, name a file by its path"),
        ("http:///app.tar.gz", "must be absolute"),
        ("http://host", "must have a filename in the path"),
        ("http://host/app.tar.gz/", "must have a filename in the path"),
        (
            "http://host/app.rar",
            "must end in .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz, .tar.zst, .zip, .gz, .bz2, .xz or .zst",
        ),
        ("http://host/app.rar?x=a.tar.gz", "must end in"),
        ("http://[::1/app.tar.gz", "it is not a valid URL"),
        ("http://host:port/app.tar.gz", "it is not a valid URL"),
        ("http://host/my app.tar.gz", "must not hold spaces"),
        ("http://host/a\n.tar.gz", "must not hold spaces or control characters"),
    ],
)
def test_a_url_that_can_not_be_fetched_is_refused(url, message):
    assert message in told(**{**WHOLE, "url": url})


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"name": "/tmp/app.rar"}, "the name must end in"),
        ({"name": "app.tar.gz"}, "must be absolute"),
        ({"name": "/tmp/../app.tar.gz"}, "must be canonical"),
        ({"name": "/tmp/a.zip"}, "url and name must have the same archive type: url is tar.gz, name is zip"),
        ({"ensure": "latest"}, "'present' or 'absent'"),
        ({"cleanup": True, "creates": "/x"}, "cleanup requires extract_parent to be set"),
        ({"cleanup": True, "extract_parent": "/x"}, "cleanup requires creates to be set"),
        (
            {"cleanup": True},
            "cleanup requires extract_parent to be set\ncleanup: cleanup requires creates to be set",
        ),
        ({"creates": "x"}, "creates: the path must be absolute"),
        ({"extract_parent": "x"}, "extract_parent: the path must be absolute"),
        ({"owner": ""}, "owner: it must not be empty"),
        ({"group": ""}, "group: it must not be empty"),
        ({"checksum": "abc"}, "64 hexadecimal digits of a SHA-256"),
        ({"checksum": "z" * 64}, "64 hexadecimal digits of a SHA-256"),
        ({"headers": {"a b": "c"}}, "'a b' is not a valid name of a header field"),
        ({"headers": {"A": "c\r\nB: d"}}, "the value of A must be one line"),
        ({"headers": ["a"]}, "headers: Input should be a valid dict"),
        ({"password": "x"}, "password requires username"),
        ({"name": "/tmp/.gz", "url": "http://h/a.gz"}, "the name must have, before its ending"),
        ({"name": "/tmp/...gz", "url": "http://h/a.gz"}, "the name must have, before its ending"),
        ({"name": "/tmp/app.gz"}, "url is tar.gz, name is gz"),
        ({"strip_components": -1, "extract_parent": "/x"}, "greater than or equal to 0"),
        ({"strip_components": 1}, "strip_components requires extract_parent to be set"),
        (
            {"name": "/tmp/a.gz", "url": "http://h/a.gz", "extract_parent": "/x", "strip_components": 1},
            "strip_components is only valid for an archive",
        ),
        ({"mode": "0644", "extract_parent": "/x"}, "mode is only valid for a single compressed file"),
        ({"name": "/tmp/a.xz", "url": "http://h/a.xz", "mode": "0644"}, "mode requires extract_parent"),
        ({"mode": "0666"}, "must let its owner read and write, and no other user write"),
        ({"mode": "0444"}, "must let its owner read and write"),
        ({"mode": "4755"}, "exceeds the maximum 0777"),
        ({"max_size": "lots"}, "'lots' is not a size"),
        ({"max_size": "0"}, "'0' is not a size"),
        ({"max_members": 0}, "greater than 0"),
        ({"timeout": "10"}, "is not a duration"),
        ({"provider": "ftp"}, "archive has no provider 'ftp'"),
        ({"meta": {"reverse": True}}, "archive can't be undone"),
        ({"contents": "x"}, "contents: Extra inputs"),
    ],
)
def test_what_makes_no_sense_is_refused(properties, message):
    assert message in told(**{**WHOLE, **properties})


def test_the_same_type_may_be_spelt_in_two_ways():
    assert make("/tmp/app.tgz", "https://host/APP.TAR.GZ?token=x").url.startswith("https")


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500_000_000), ("2GiB", 2 << 30), ("1k", 1024), ("1.5 MiB", 3 << 19), ("12", 12), (12, 12), ("5B", 5)],
)  # fmt: skip
def test_sizes_have_units(text, size):
    assert make("/tmp/a.zip", "http://host/a.zip", max_size=text).max_size == size


def test_a_checksum_may_be_in_capitals():
    assert make("/tmp/a.zip", "http://host/a.zip", checksum="AB" * 32).checksum == "ab" * 32


def test_what_proves_who_we_are_is_shown_nowhere():
    archive = make(
        "/tmp/app.tar.gz",
        "http://ann:urlpass1@host/app.tar.gz",
        username="ann",
        password="pass-word",
        headers={"X-Token": "t0k3n-value", "Authorization": "Bearer b34r3r", "Accept": "text/plain"},
    )
    assert archive.secrets == {"password", "headers"}
    text = f"{archive!r} {archive.url} t0k3n-value b34r3r pass-word text/plain"
    for secret in ("urlpass1", "pass-word", "t0k3n-value", "b34r3r"):
        assert secret not in redact(text)
    assert "text/plain" in redact(text), "what is no secret is not hidden"
    assert MASK in redact(archive.url)
    declare(archive, archive.declared._replace(secrets=frozenset(("url",))))
    assert archive.secrets == {"url", "password", "headers"}


def test_the_password_of_a_broken_url_is_not_shown():
    said = told(**{**WHOLE, "url": "ftp://ann:s3cr3t-x@host/app.tar.gz"})
    assert "s3cr3t-x" not in said
    assert redact("s3cr3t-x") == MASK


def test_it_watches_the_archive_and_what_it_creates():
    archive = make("/tmp/app.tar.gz", URL, extract_parent="/opt/app", creates="/opt/app/bin")
    assert list(archive.watches()) == [PathWatch("/tmp/app.tar.gz"), PathWatch("/opt/app/bin")]


def test_the_graph_knows_what_it_provides_and_uses():
    archive = make("/tmp/app.tar.gz", URL, extract_parent="/opt/app", creates="/opt/app/bin")
    assert list(archive.relations().provides) == ["/tmp/app.tar.gz", "/opt/app", "/opt/app/bin"]
    assert list(archive.relations().depends_on) == ["/tmp", "/opt/app"]
    gone = make("/tmp/app.tar.gz", URL, ensure="absent", extract_parent="/opt/app")
    assert (
        list(gone.relations().provides),
        list(gone.relations().removes),
        list(gone.relations().depends_on),
    ) == (
        [],
        ["/tmp/app.tar.gz"],
        ["/tmp"],
    )


def test_an_archive_that_comes_and_goes_claims_nothing():
    clean = {"extract_parent": "/opt/app", "creates": "/opt/app/bin", "cleanup": True}
    assert list(make("/tmp/app.tar.gz", URL, **clean).claims()) == []
    assert "/tmp/app.tar.gz" not in make("/tmp/app.tar.gz", URL, **clean).relations().provides
    [claim] = make("/tmp/app.tar.gz", URL).claims()
    assert claim.desired == {"ensure": "present", **ME}
