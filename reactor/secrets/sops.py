"""Decrypts a file of SOPS whose data key is encrypted with age, and verifies its MAC.

Every value is encrypted with AES-GCM; its path of keys is authenticated with it. The MAC is a hash of all values in the
order of the file, so it finds values that were removed, moved or replaced. The program ``sops`` is not needed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from reactor.language.regex import compile_pattern
from reactor.secrets.age import Keys, decrypt
from reactor.secrets.errors import SecretError
from reactor.secrets.files import as_text
from reactor.secrets.sops_formats import METADATA, parsed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_ENCRYPTED = re.compile(
    r"ENC\[AES256_GCM,data:(.*),iv:(.+),tag:(.+),type:(str|int|float|bool|bytes|comment)\]"
)
_ONLY_ENCRYPTED = bytes.fromhex("8a3fd2ad54ce66527b1034f3d147be0b0b975b3bf44f72c6fdadec8176f27d69")
"""What the hash begins with if the MAC covers only encrypted values: the constant of SOPS."""
_KEY_BYTES = 32
_COMMENT = object()
_RULES = ("unencrypted_suffix", "encrypted_suffix", "unencrypted_regex", "encrypted_regex")
_REFUSED = ("unencrypted_comment_regex", "encrypted_comment_regex", "shamir_threshold", "key_groups")
_Path = tuple[str, ...]


def decrypt_sops(content: bytes, form: str, keys: Keys, what: str) -> Any:
    """Return the values of a file of the format ``form``: a map, or the text of a binary file. Raises SecretError."""
    tree = parsed(as_text(content, what), form, what)
    metadata = tree.pop(METADATA, None)
    if not isinstance(metadata, Mapping):
        hint = "encrypt it: sops encrypt --in-place FILE; a file in clear is declared as 'file'"
        raise SecretError(f"{what} is not encrypted by SOPS", hint, code="R0132")
    for name in _REFUSED:
        if metadata.get(name):
            raise SecretError(f"{what} uses {name} of SOPS, which is not supported", code="R0132")
    key = _data_key(metadata, keys, what)
    found = _Decryption(key, metadata, what).run(tree)
    return found.get("data") if form == "binary" else found


def _data_key(metadata: Mapping[str, Any], keys: Keys, what: str) -> bytes:
    """Return the key of the values: the first that one of ``keys`` opens."""
    failure = SecretError(
        f"{what} has no age key among its recipients",
        "add one: sops rotate --add-age RECIPIENT",
        code="R0131",
    )
    recipients = metadata.get("age")
    for each in recipients if isinstance(recipients, list) else ():
        if not isinstance(each, Mapping) or not isinstance(each.get("enc"), str):
            raise SecretError(f"{what} is damaged: it has no data key", "restore the file", code="R0132")
        try:
            key = decrypt(each["enc"].encode(), keys, what)
        except SecretError as error:
            failure = error
            continue
        if len(key) != _KEY_BYTES:
            raise SecretError(
                f"{what} is damaged: its data key is not valid", "restore the file", code="R0132"
            )
        return key
    raise failure


class _Decryption:
    """The decryption of one file. The hash is that of all values passed so far."""

    def __init__(self, key: bytes, metadata: Mapping[str, Any], what: str) -> None:
        self._cipher = _cipher(key)
        self._metadata = metadata
        self._what = what
        self._is_encrypted = _rule(metadata, what)
        self._hashes_all = not metadata.get("mac_only_encrypted")
        self._hash = hashlib.sha512(b"" if self._hashes_all else _ONLY_ENCRYPTED)

    def run(self, tree: dict[str, Any]) -> dict[str, Any]:
        found = self._value(tree, ())
        self._verify()
        return dict(found)

    def _verify(self) -> None:
        wanted = self._metadata.get("mac")
        if not isinstance(wanted, str) or not wanted:
            raise self._wrong_mac("it has none")
        try:
            mac = self._opened(wanted, str(self._metadata.get("lastmodified", "")), "its MAC")
        except SecretError:
            raise self._wrong_mac("the MAC or the time of the last change was replaced") from None
        if not hmac.compare_digest(str(mac), self._hash.hexdigest().upper()):
            raise self._wrong_mac("a value was changed, added or removed without sops")

    def _wrong_mac(self, reason: str) -> SecretError:
        hint = (
            "restore the file; after a change without sops: sops edit --ignore-mac FILE, check it, and save"
        )
        return SecretError(f"the MAC of {self._what} is wrong: {reason}", hint, code="R0133")

    def _value(self, value: Any, path: _Path) -> Any:
        if isinstance(value, dict):
            return {key: self._value(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            found = [self._value(item, path) for item in value]
            return [item for item in found if item is not _COMMENT]
        return value if value is None else self._leaf(value, path)

    def _leaf(self, value: Any, path: _Path) -> Any:
        encrypted = self._is_encrypted(path)
        if encrypted:
            where = f"the value {'.'.join(path)}"
            if not isinstance(value, str):
                raise self._not_encrypted(where)
            value = self._opened(value, f"{':'.join(path)}:", where) if value else ""
        if (encrypted or self._hashes_all) and value is not _COMMENT:
            self._hash.update(_as_bytes(value))
        return value

    def _opened(self, text: str, path: str, where: str) -> Any:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - most runs have no such file

        match = _ENCRYPTED.fullmatch(text)
        if match is None:
            raise self._not_encrypted(where)
        try:
            data, nonce, tag = (base64.b64decode(part, validate=True) for part in match.groups()[:3])
            plain = self._cipher.decrypt(nonce, data + tag, path.encode())
            return _converted(plain.decode(), match[4])
        except InvalidTag:
            message = f"{where} of {self._what} was changed, or moved from another place"
            raise SecretError(message, "restore the file", code="R0133") from None
        except (ValueError, binascii.Error):
            raise SecretError(
                f"{where} of {self._what} is damaged", "restore the file", code="R0132"
            ) from None

    def _not_encrypted(self, where: str) -> SecretError:
        hint = "a value is added by: sops edit FILE"
        return SecretError(f"{where} of {self._what} is not encrypted", hint, code="R0132")


def _cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - slow to import
    except ImportError:
        hint = "pip install 'reactor-converge[secrets]'"
        message = "SOPS needs the library cryptography, which is missing"
        raise SecretError(message, hint, code="R0135") from None
    return AESGCM(key)


def _rule(metadata: Mapping[str, Any], what: str) -> Callable[[_Path], bool]:
    """Return whether the value at a path must be encrypted. As in SOPS, the last rule that the file has decides."""
    rules = {name: str(metadata[name]) for name in _RULES if metadata.get(name)}
    try:
        expressions = {name: compile_pattern(text) for name, text in rules.items() if name.endswith("regex")}
    except Exception as error:
        message = f"{what} is damaged: a regular expression of it is not valid"
        raise SecretError(message, "restore the file", code="R0132") from error

    def is_encrypted(path: _Path) -> bool:
        encrypted = True
        for name, text in rules.items():
            regex = expressions.get(name)
            hit = any(regex.search(part) is not None if regex else part.endswith(text) for part in path)
            if name.startswith("encrypted"):
                encrypted = hit
            elif hit:
                encrypted = False
        return encrypted

    return is_encrypted


def _converted(text: str, kind: str) -> Any:
    if kind == "comment":
        return _COMMENT
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "bool":
        return text.lower() in ("true", "t", "1")
    return text


def _as_bytes(value: Any) -> bytes:
    """Return the bytes that SOPS hashes for a value."""
    if isinstance(value, bool):
        return b"True" if value else b"False"
    if isinstance(value, float):
        return _decimal(value).encode()
    return str(value).encode()


def _decimal(value: float) -> str:
    """Return the shortest digits of ``value`` without an exponent, as Go's format ``f``."""
    text = repr(value)
    if "e" in text:
        from decimal import Decimal  # noqa: PLC0415 - rare

        text = format(Decimal(text), "f")
    return text.removesuffix(".0")
