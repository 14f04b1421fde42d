"""Hashes without OpenSSL are those of hashlib."""

from __future__ import annotations

import hashlib
import runpy
import sys

import pytest

from reactor.resource import hashes

_BUILT_IN = ("_blake2", "_sha2", "_sha256")


@pytest.mark.parametrize("missing", [(), _BUILT_IN])
def test_hashes_are_those_of_hashlib(monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    names = runpy.run_path(hashes.__file__)
    for data in (b"", b"abc", b"x" * 70_000):
        assert names["sha256"](data).hexdigest() == hashlib.sha256(data).hexdigest()
        ours = names["blake2b"](data, digest_size=16).hexdigest()
        assert ours == hashlib.blake2b(data, digest_size=16).hexdigest()
