"""Requires enough good signatures of different people."""

from __future__ import annotations

from collections.abc import Sequence

from reactor.fleet.release.signers import Signer
from reactor.fleet.release.sshsig import Signature, SignatureError, is_good, parse_signatures

RELEASE, PIN = "reactor-release", "reactor-pin"
"""The namespaces: a signature of one type of document is not valid for another."""

_HINT = "reactor fleet sign"


def verify(
    data: bytes,
    signatures: bytes,
    signers: Sequence[Signer],
    namespace: str,
    now: float | None,
    *,
    require: int = 1,
) -> tuple[str, ...]:
    """Return the names of the people who signed ``data``, at least ``require`` different ones.

    A bad signature is not ignored: it is an error. ``now``: see `signers_among`. Raises SignatureError.
    """
    return signers_among(
        good_signatures(data, signatures, namespace), signers, namespace, now, require=require
    )


def good_signatures(data: bytes, signatures: bytes, namespace: str) -> tuple[Signature, ...]:
    """Return the ``signatures`` if each of them fits ``data``. Does not ask who made them. Raises SignatureError."""
    found = parse_signatures(signatures)
    for signature in found:
        if signature.namespace != namespace:
            raise SignatureError(f"signed for {signature.namespace!r}, not for {namespace!r}")
        if not is_good(signature, data):
            raise SignatureError("the signature does not fit the document: one of them has been changed")
    return tuple(found)


def signers_among(
    good: Sequence[Signature],
    signers: Sequence[Signer],
    namespace: str,
    now: float | None,
    *,
    require: int,
) -> tuple[str, ...]:
    """Return the names of the people who made the signatures ``good``, at least ``require`` different ones.

    ``now`` is in seconds since 1970, None where the clock can't be trusted: then no key is too old or too new.
    Raises SignatureError.
    """
    names: list[str] = []
    keys: set[bytes] = set()
    for signature in good:
        name = _signed_by(signature, signers, namespace, now)
        if name not in names and signature.key not in keys:
            names.append(name)
        keys.add(signature.key)
    if len(names) < require:
        words = f"signed by {', '.join(names)}, and signatures of {require} different people are required"
        raise SignatureError(words, _HINT)
    return tuple(names)


def _signed_by(signature: Signature, signers: Sequence[Signer], namespace: str, now: float | None) -> str:
    known = [signer for signer in signers if signer.key == signature.key]
    if not known:
        raise SignatureError("signed with a key that is not among the keys of the people who may sign")
    refusals = [signer.may_sign(namespace, now) for signer in known]
    for signer, refusal in zip(known, refusals, strict=True):
        if refusal is None:
            return signer.name
    raise SignatureError(str(refusals[0]))
