"""The keys that may sign, in the format of ``allowed_signers`` of OpenSSH.

A line is ``PRINCIPALS [OPTIONS] KEYTYPE KEY [COMMENT]``, with the options ``namespaces``, ``valid-after`` and
``valid-before``. A line that is not understood is an error and is not ignored: a file that is read in part could let
the wrong people sign.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from reactor.errors import ReactorError
from reactor.fleet.release.sshsig import KEY_TYPES, SignatureError, key_parts

_OPTION = re.compile(r'([a-zA-Z-]+)(?:="([^"]*)")?(?:,|$)')
_WORDS = re.compile(r'(?:[^\s"]|"[^"]*")+')
_TIME = re.compile(r"(\d{8})(\d{4}(?:\d\d)?)?(Z?)")


class SignersError(ReactorError):
    """The file of signers is missing or wrong."""

    code = "R1006"


@dataclass(frozen=True)
class Signer:
    """A person with one key. Times in seconds since 1970; ``namespaces`` are patterns, none for all."""

    name: str
    key: bytes
    namespaces: tuple[str, ...] = ()
    valid_after: float | None = None
    valid_before: float | None = None

    def may_sign(self, namespace: str, now: float | None) -> str | None:
        """Return why this key may not sign in ``namespace`` at ``now``, None if it may.

        ``now`` None: its times are ignored.
        """
        if self.namespaces and not any(fnmatchcase(namespace, each) for each in self.namespaces):
            return f"the key of {self.name} may not sign for {namespace}"
        if now is not None and self.valid_after is not None and now < self.valid_after:
            return f"the key of {self.name} is not valid yet"
        if now is not None and self.valid_before is not None and now >= self.valid_before:
            return f"the key of {self.name} is not valid any more"
        return None


def parse_signers(text: str, path: str) -> tuple[Signer, ...]:
    """Return the people in a file. ``path`` is named in errors. Raises SignersError."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                found.append(_signer(_WORDS.findall(line)))
            except (SignatureError, SignersError, ValueError) as error:
                raise SignersError(f"{path}:{number}: {error}", "a line is: NAME ssh-ed25519 KEY") from error
    if not found:
        raise SignersError(f"{path} names nobody who may sign", "a line is: NAME ssh-ed25519 KEY")
    return tuple(found)


def _signer(words: list[str]) -> Signer:
    place = next((place for place, word in enumerate(words) if word in KEY_TYPES), None)
    if place not in (1, 2) or len(words) < place + 2:
        raise SignersError("no Ed25519 key with a name before it")
    options = _options(words[1]) if place == 2 else {}  # noqa: PLR2004 - name, options, key
    try:
        key = base64.b64decode(words[place + 1], validate=True)
    except binascii.Error as error:
        raise SignersError("the key is not base64") from error
    if key_parts(key)[0].decode() != words[place]:
        raise SignersError(f"the key is not of type {words[place]}")
    return Signer(
        name=words[0].strip('"'),
        key=key,
        namespaces=tuple(each for each in options.get("namespaces", "").split(",") if each),
        valid_after=_time(options.get("valid-after")),
        valid_before=_time(options.get("valid-before")),
    )


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    while text:
        option = _OPTION.match(text)
        if (
            not option
            or option[1].lower() not in ("namespaces", "valid-after", "valid-before")
            or option[2] is None
        ):
            raise SignersError(f"the option {text!r} is not understood")
        found[option[1].lower()] = option[2]
        text = text[option.end() :]
    return found


def _time(text: str | None) -> float | None:
    """A time as OpenSSH has it: ``YYYYMMDD[HHMM[SS]]``, in the zone of the host, or with Z in UTC."""
    if text is None:
        return None
    found = _TIME.fullmatch(text)
    try:
        day, hours, is_utc = found.groups() if found else ("", "", "")
        moment = datetime.strptime(day + (hours or "0000").ljust(6, "0"), "%Y%m%d%H%M%S")  # noqa: DTZ007 - zoned below
    except ValueError as error:
        raise SignersError(f"{text!r} is not a time such as 20260131Z") from error
    return (moment.replace(tzinfo=UTC) if is_utc else moment.astimezone()).timestamp()
