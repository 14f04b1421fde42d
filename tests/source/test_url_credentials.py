"""Credentials within URLs are secrets, whoever uses the URL."""

import pytest

from reactor import register_header_secrets, register_url_secrets
from reactor.resource import redaction
from reactor.resources.health.goss.http import HttpRule
from reactor.resources.repository import Repository
from reactor.source.address import parse_address

SIGNED = "https://bucket.example/app.tar.gz?X-Amz-Date=20260101T000000Z&X-Amz-Signature=deadbeefcafe0123"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ann:hunter2-x@host/a", "https://ann:[secret]@host/a"),
        ("https://ann:h%40nter2@host/a", "https://ann:[secret]@host/a"),
        ("https://ghp_0123456789@host/a", "https://[secret]@host/a"),
        (
            "https://host/a?page=1234&access_token=t0ken-t0ken",
            "https://host/a?page=1234&access_token=[secret]",
        ),
        ("https://host/a?sig=a%2Fb%2Bcde&x=plain-words", "https://host/a?sig=[secret]&x=plain-words"),
        (
            SIGNED,
            "https://bucket.example/app.tar.gz?X-Amz-Date=20260101T000000Z&X-Amz-Signature=[secret]",
        ),
        ("https://host/plain?page=1234", "https://host/plain?page=1234"),
    ],
)
def test_only_what_proves_who_we_are_is_masked(url, shown):
    register_url_secrets(url)
    assert redaction.redact(f"failed to get {url} today") == f"failed to get {shown} today"


def test_a_header_is_masked_with_its_scheme_and_without():
    register_header_secrets({"Authorization": "Bearer abcdef-012345", "Accept": "text/html"})
    assert redaction.redact("abcdef-012345 is wrong, text/html too") == "[secret] is wrong, text/html too"


def test_a_manifest_from_a_signed_url_is_shown_without_its_query():
    assert "deadbeefcafe" not in parse_address(SIGNED).shown
    assert redaction.redact(SIGNED).endswith("X-Amz-Signature=[secret]")


def test_repositories_and_health_checks_remember_what_their_urls_hold():
    Repository(name="app", url="https://ann:rep0-password@host/debian")
    HttpRule(
        url="http://host/?token=g0ss-token",
        password="g0ss-password",
        **{"request-headers": ["Cookie: c00kie-x"]},
    )
    assert redaction.redact("rep0-password g0ss-token g0ss-password c00kie-x") == " ".join(["[secret]"] * 4)
