"""The kind `certificate`: its properties, state and plan."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field

from reactor import (
    AbsolutePath,
    Action,
    ChangedPaths,
    Claim,
    Duration,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    Watch,
    fragile_mounts,
    register_url_secrets,
)
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    accounts,
    accounts_of,
    forget_record,
    read_record,
    write_record,
)
from reactor.resources.certificate.challenges import WELL_KNOWN_SERVERS, DnsCommand, Webroot
from reactor.resources.certificate.library import require_library
from reactor.resources.certificate.pair import (
    FILES,
    Pair,
    Place,
    read_pair,
    remove_all,
    remove_others,
    set_links,
    set_pair_attributes,
    store_pair,
    wanted_attributes,
)
from reactor.resources.certificate.profile import (
    LONGEST_COMMON_NAME,
    SIZES,
    HostName,
    KeyType,
    Profile,
    Usage,
)
from reactor.resources.certificate.rules import problems_of
from reactor.resources.file.property_types import Account, Mode, parse_mode
from reactor.resources.trusted_directory import refuse_unremovable, refuse_unwritable
from reactor.watchers.wall_clock import WallAlarm, WallAlarmWatch

if TYPE_CHECKING:
    from reactor.resources.certificate.maker import Maker

_YEAR = 365 * 86400.0
_ISSUER = "issuer"


def _check_server(url: str) -> str:
    url = WELL_KNOWN_SERVERS.get(url, url)
    register_url_secrets(url)
    if not url.startswith("https://") or " " in url or not url.isprintable():
        raise ValueError("write letsencrypt, or the https URL of the directory of an ACME server")
    return url


class CertificateState(NamedTuple):
    """The pair in the directory, and the reason why a new one is needed, or None."""

    pair: Pair
    fault: str | None = None
    wanted: Attributes = Attributes(0, 0, 0)
    """The attributes of the key."""


class Certificate(Resource[CertificateState], kind="certificate"):
    """Keep a private key and its certificate, and renew both before the certificate expires."""

    example = "/etc/ssl/app --names app.example.com"
    needed_to_show = frozenset(("names",))

    name: AbsolutePath
    """The directory of the pair. It holds `key.pem`, `cert.pem`, `chain.pem`, `fullchain.pem` and `combined.pem`."""
    ensure: Literal["present", "absent"] = "present"
    names: tuple[HostName, ...] = ()
    """The names and IP addresses of the host: `app.example.com`, `*.example.com`, `10.0.0.1`."""
    common_name: Annotated[str, Field(min_length=1, max_length=LONGEST_COMMON_NAME)] | None = None
    """The subject; by default the first of `names`, if it is short enough."""
    ca_certificate: AbsolutePath | None = None
    """The certificate of the authority that signs, with those above it. With no authority, the certificate is self-signed."""
    ca_key: AbsolutePath | None = None
    """The private key of that authority."""
    acme: Annotated[str, AfterValidator(_check_server)] | None = None
    """The ACME server that signs: `letsencrypt`, `letsencrypt-staging`, or the URL of its directory."""
    contacts: tuple[str, ...] = ()
    """The mail addresses that the ACME server may write to."""
    webroot: AbsolutePath | None = None
    """The directory that a web server serves for the names: proves to the ACME server that they are ours (http-01)."""
    dns_command: Annotated[str, Field(min_length=1)] | None = None
    """A command that adds or removes a TXT record, see below (dns-01)."""
    acme_trust: AbsolutePath | None = None
    """A file of certificates to trust the ACME server by, instead of those of the host."""
    only_request: Flag = False
    """Whether only the key and `request.pem` are made, for others to sign."""
    authority: Flag = False
    """Whether it is the certificate of an authority, which signs others."""
    usages: tuple[Usage, ...] = ("server_auth",)
    """What it may be used for; none for an authority."""
    key_type: KeyType = "ec"
    """The algorithm of the private key."""
    key_size: int | None = None
    """Bits: 2048, 3072, 4096 or 8192 for rsa; 256, 384 or 521 for ec. The first is the default."""
    keep_key: Flag = False
    """Whether a renewal keeps the private key, if it is still of the right type."""
    valid_for: Annotated[Duration, Field(gt=0)] = _YEAR
    """How long it holds. An ACME server decides that itself, and none holds longer than its authority."""
    renew_before: Annotated[Duration, Field(gt=0)] | None = None
    """How long before it expires it is renewed, at most two thirds of its time; by default a third of its time."""
    owner: Account | None = None
    """The owner of the key; by default the user that runs reactor."""
    group: Account | None = None
    """The group of the key; by default that of the user that runs reactor."""
    mode: Mode = "0600"
    """The permissions of the key. All may read the certificate."""
    timeout: Annotated[Duration, Field(gt=0)] = 300.0
    """The longest time that an ACME server, and `dns_command`, may take."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "present":
            yield from problems_of(self)

    def watches(self) -> Iterable[Watch]:
        """The directory with everything in it, the certificate of the authority, and the moment of the renewal."""
        yield PathWatch(self.name, self._changed_paths)
        if self.ensure == "present":
            yield WallAlarmWatch(self._alarm)
            if self.ca_certificate is not None:
                yield PathWatch(self.ca_certificate, is_input=True)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The directory, and the files in it.

        Depends on: The directory above, the owner and group, the files of the authority, and the webroot.
        """
        needed = [os.path.dirname(self.name)]
        if self.ensure == "absent":
            return Relations(clears=(self.name,), depends_on=needed)
        needed += accounts_of(self.owner, self.group)
        files = (self.ca_certificate, self.ca_key, self.acme_trust, self.webroot)
        needed += [path for path in files if path is not None]
        return Relations(provides=(self.name, *(f"{self.name}/{name}" for name in FILES)), depends_on=needed)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The directory and the webroot; everything with a command."""
        yield self.name
        if self.webroot is not None:
            yield self.webroot
        if self.dns_command is not None:
            yield SandboxAccess.ANYTHING

    def claims(self) -> Iterable[Claim]:
        """The path, as a directory, and that its files are links into the current pair."""
        yield Claim("path", self.name, {"ensure": "absent" if self.ensure == "absent" else "directory"})
        for name in FILES if self.ensure == "present" else ():
            yield Claim("path", f"{self.name}/{name}", {"ensure": "link"})

    def might_provide(self, missing: str) -> bool:
        """Whether ``missing`` is the directory, or may be in it or above it."""
        own = f"{self.name}/"
        return self.ensure == "present" and (f"{missing}/".startswith(own) or own.startswith(f"{missing}/"))

    async def observe(self) -> CertificateState:
        """The pair, and whether it is as wanted. Raises ResourceError."""
        await fragile_mounts().ask(self.name)
        self._changed_paths.take()
        with ErrorContext(f"inspect {self.name}"):
            pair = read_pair(self.name)
        self._alarm.set(math.inf)
        if self.ensure == "absent":
            return CertificateState(pair)
        wanted = await self._key_attributes()
        await require_library()
        now = time.time()
        inspection = self._maker.judge(pair, now)
        fault = inspection.fault
        if fault is None and (read_record(self.kind, self.name) or {}).get(_ISSUER, self.acme) != self.acme:
            fault = "another server has signed it"
        if fault is None and inspection.renew_at is not None:
            self._alarm.set(inspection.renew_at)
            self._require_valid(inspection.valid_from, now)
        return CertificateState(pair, fault, wanted)

    def _require_valid(self, valid_from: float, now: float) -> None:
        """Raise ResourceError if the certificate is from the future: it was issued while the clock was wrong, or now it is.

        It is not replaced, since a clock that is wrong after the boot would cost each pair.
        """
        if now < valid_from:
            from reactor.resources.certificate.inspection import in_utc  # noqa: PLC0415 - imports cryptography

            self._alarm.set(valid_from)
            words = f"the certificate is not valid before {in_utc(valid_from)}, and now it is {in_utc(now)}"
            hint = f"set the clock; if it is right, remove {self.name}, and a new pair is made"
            raise ResourceError(words, hint)

    def plan(self, state: CertificateState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Make a new pair, or correct links and attributes; or remove the directory. Raises ResourceError."""
        pair = state.pair
        if pair.place in (Place.OTHER, Place.FILE):
            words = f"{self.name} is {pair.place.value}; cannot manage it"
            in_the_way = self.name if pair.place is Place.FILE else None
            raise ResourceError(words, "choose a directory for this certificate alone", missing=in_the_way)
        if self.ensure == "absent":
            if pair.place is Place.NOTHING:
                return ()
            return (Action.saying("removed the key and the certificate", partial(remove_all, self.name)),)
        if state.fault is not None:
            return (Action.saying(f"{self._verb}, as {state.fault}", partial(self._renew, state)),)
        return tuple(self._corrections(state))

    def _corrections(self, state: CertificateState) -> Iterator[Action]:
        """The faults around a pair that is as desired."""
        pair = state.pair
        if set(pair.links) != set(pair.files):
            yield Action.saying("corrected the links to the files", partial(set_links, self.name, pair.files))
        wanted = {name: wanted_attributes(name, state.wanted) for name in pair.files}
        differing = {name: each for name, each in wanted.items() if pair.attributes[name] != each}
        if differing:
            words = f"set owner, group and mode of {', '.join(differing)}"
            yield Action.saying(words, partial(set_pair_attributes, self.name, pair.generation, differing))
        if pair.stale:
            yield Action.saying(
                "removed what is left of earlier pairs", partial(remove_others, self.name, list(pair.stale))
            )

    async def preflight(self, state: CertificateState) -> None:
        """Check that the directory can be written, the authority can sign, and the ACME server can be asked."""
        pair = state.pair
        if self.ensure == "absent":
            with ErrorContext(f"remove {self.name}"):
                await refuse_unremovable(self.name)
            return
        with ErrorContext(f"write {self.name}"):
            refuse_unwritable(self.name, *pair.stale, *filter(None, [pair.generation]))
        if state.fault is not None:
            await self._maker.refuse_unmakeable()

    async def describe(self) -> Mapping[str, Any]:
        """The certificate that is there: its names, its end, and whether it is as wanted."""
        with ErrorContext(f"inspect {self.name}"):
            pair = read_pair(self.name)
        return {"ensure": "absent" if pair.place is Place.NOTHING else "present"}

    async def reversal(self, state: CertificateState) -> Self:
        """No pair, if there was none. Raises ResourceError otherwise: a private key is not kept for that."""
        if state.pair.place is Place.NOTHING:
            return type(self)(name=self.name, ensure="absent")
        raise ResourceError(f"reverse could not restore the key in {self.name}", "remove reverse")

    async def _renew(self, state: CertificateState) -> None:
        files = await self._maker.make(state.pair)
        await store_pair(self.name, files, state.wanted, state.pair)
        if self.acme is None:
            forget_record(self.kind, self.name)
            return
        with ErrorContext("record the issuer"):
            write_record(self.kind, self.name, {_ISSUER: self.acme})

    async def _key_attributes(self) -> Attributes:
        owner, group = self.owner or str(os.geteuid()), self.group or str(os.getegid())
        ids = accounts.known(owner, group) or await accounts.look_up(owner, group)
        return Attributes(*ids, parse_mode(self.mode))

    @property
    def _verb(self) -> str:
        return "made a key and a request" if self.only_request else "issued a key and a certificate"

    @cached_property
    def _maker(self) -> Maker:
        from reactor.resources.certificate.acme import Acme  # noqa: PLC0415 - imports cryptography
        from reactor.resources.certificate.maker import AuthorityFiles, Maker  # noqa: PLC0415

        authority = acme = None
        if self.ca_certificate is not None and self.ca_key is not None:
            authority = AuthorityFiles(self.ca_certificate, self.ca_key)
        if self.acme is not None:
            acme = Acme(self.acme, self.contacts, self.acme_trust, self._responder, self.timeout)
        return Maker(self._profile, self.renew_before, authority, acme, self.only_request, self.keep_key)

    @property
    def _responder(self) -> DnsCommand | Webroot:
        if self.dns_command is not None:
            return DnsCommand(self.dns_command, self.timeout)
        return Webroot(self.webroot or "/", self.name)

    @property
    def _profile(self) -> Profile:
        first = self.names[0] if self.names and len(self.names[0]) <= LONGEST_COMMON_NAME else None
        size = self.key_size or SIZES[self.key_type][0]
        usages = () if self.authority else self.usages
        subject = self.common_name or first
        return Profile(self.names, subject, self.key_type, size, usages, self.authority, self.valid_for)

    @cached_property
    def _changed_paths(self) -> ChangedPaths:
        return ChangedPaths()

    @cached_property
    def _alarm(self) -> WallAlarm:
        return WallAlarm()
