"""Which properties of a certificate go together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reactor import PropertyProblem
from reactor.resources.certificate.profile import SIZES, is_address
from reactor.resources.file.property_types import parse_mode

if TYPE_CHECKING:
    from reactor.resources.certificate.kind import Certificate


def problems_of(wanted: Certificate) -> Iterator[PropertyProblem]:
    """The contradictions between the properties of a certificate that must exist."""
    yield from _subject_problems(wanted)
    yield from _key_problems(wanted)
    yield from _issuer_problems(wanted)
    if wanted.acme is not None:
        yield from _acme_problems(wanted)


def _subject_problems(wanted: Certificate) -> Iterator[PropertyProblem]:
    if wanted.authority and wanted.common_name is None and not wanted.names:
        hint = "say whose certificate it is: common_name: Our CA"
        yield PropertyProblem(("common_name",), "common_name is missing", hint)
    if not wanted.authority and not wanted.names:
        yield PropertyProblem(("names",), "names is missing", "add names: [app.example.com]")
    for index, name in enumerate(wanted.names):
        if name in wanted.names[:index]:
            yield PropertyProblem(("names", index), f"{name} is listed twice", "keep one of them")
    if wanted.authority and "usages" in wanted.model_fields_set and wanted.usages:
        yield PropertyProblem(("usages",), "authority and usages are mutually exclusive", "remove usages")


def _key_problems(wanted: Certificate) -> Iterator[PropertyProblem]:
    sizes = SIZES[wanted.key_type]
    if wanted.key_size is not None and wanted.key_size not in sizes:
        words = f"a key of {wanted.key_type} has no {wanted.key_size} bits"
        yield PropertyProblem(("key_size",), words, f"write {' or '.join(map(str, sizes))}")
    if parse_mode(wanted.mode) & 0o007:
        words = f"with mode {wanted.mode}, all users may use the private key"
        yield PropertyProblem(("mode",), words, "write mode: 0640, and the group that needs it")


def _issuer_problems(wanted: Certificate) -> Iterator[PropertyProblem]:
    for given, missing in (("ca_certificate", "ca_key"), ("ca_key", "ca_certificate")):
        if getattr(wanted, given) is not None and getattr(wanted, missing) is None:
            yield PropertyProblem((given,), f"{given} requires {missing} to be set", f"add {missing}")
    issuers = ("acme", "ca_certificate", "only_request")
    chosen = [name for name in issuers if getattr(wanted, name) not in (None, False)]
    for other in chosen[1:]:
        yield PropertyProblem(
            (other,), f"{chosen[0]} and {other} are mutually exclusive", "remove one of them"
        )
    for name in ("contacts", "webroot", "dns_command", "acme_trust"):
        if getattr(wanted, name) and wanted.acme is None:
            yield PropertyProblem((name,), f"{name} is only valid with acme", "add acme: letsencrypt")


def _acme_problems(wanted: Certificate) -> Iterator[PropertyProblem]:
    if (wanted.webroot is None) == (wanted.dns_command is None):
        words = "acme requires webroot or dns_command to be set, and not both"
        yield PropertyProblem(("acme",), words, "add webroot: /var/www/html")
    if wanted.authority:
        yield PropertyProblem(("authority",), "acme and authority are mutually exclusive", "remove authority")
    for index, name in enumerate(wanted.names):
        if name.startswith("*.") and wanted.webroot is not None:
            words = f"{name} can't be proved by a webroot"
            yield PropertyProblem(("names", index), words, "use dns_command instead of webroot")
        if is_address(name) and wanted.dns_command is not None:
            words = f"{name} can't be proved by dns_command"
            yield PropertyProblem(("names", index), words, "use webroot instead of dns_command")
