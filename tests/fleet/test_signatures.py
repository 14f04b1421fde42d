"""Signatures of the real ssh-keygen, and every way in which one is not good."""

import base64
import hashlib
import struct
import subprocess
from contextlib import nullcontext

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from signers_of_tests import new_key, public, signers_of

from reactor.fleet.host.fetch import read_pin
from reactor.fleet.host_spec import SignedPin
from reactor.fleet.release.pin import Pin
from reactor.fleet.release.signers import SignersError, parse_signers
from reactor.fleet.release.signing import sign
from reactor.fleet.release.sshsig import SignatureError, parse_signatures
from reactor.fleet.release.verify import PIN, RELEASE, verify
from reactor.fleet.testing import SimHost

DATA = b'{"v":1}'
NOW = 1_769_867_895.0  # 2026-01-31T13:58:15Z


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    directory = tmp_path_factory.mktemp("keys")
    found = {name: new_key(directory, name) for name in ("ann", "ben", "ann2", "mallory")}
    found["rsa"] = new_key(directory, "rsa", "rsa")
    found["locked"] = new_key(directory, "locked", passphrase="secret")
    return found


@pytest.fixture(scope="module")
def signed(keys):
    return {name: sign(DATA, keys[name], RELEASE) for name in ("ann", "ben", "ann2", "mallory")}


@pytest.fixture(scope="module")
def signers(keys):
    return signers_of(
        *(f"{name.strip('2')}@example.org {public(keys[name])}" for name in ("ann", "ben", "ann2"))
    )


def test_a_signature_of_ssh_keygen_is_good_and_names_who_signed(signed, signers):
    assert verify(DATA, signed["ann"], signers, RELEASE, NOW) == ("ann@example.org",)


def test_ssh_keygen_finds_the_same_signature_good(signed, keys, tmp_path):
    (tmp_path / "allowed").write_text(f"ann {public(keys['ann'])}\n")
    (tmp_path / "sig").write_bytes(signed["ann"])
    command = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        tmp_path / "allowed",
        "-I",
        "ann",
        "-n",
        RELEASE,
        "-s",
        tmp_path / "sig",
    ]
    assert subprocess.run(command, input=DATA, capture_output=True, check=False).returncode == 0


def test_two_people_sign_in_one_file(signed, signers):
    both = signed["ann"] + signed["ben"]
    assert verify(DATA, both, signers, RELEASE, NOW, require=2) == ("ann@example.org", "ben@example.org")


@pytest.mark.parametrize("names", [["ann"], ["ann", "ann"], ["ann", "ann2"]])
def test_one_person_is_not_two_also_with_two_keys(signed, signers, names):
    words = "signed by ann@example.org, and signatures of 2 different people are required"
    with pytest.raises(SignatureError, match=words):
        verify(DATA, b"".join(signed[name] for name in names), signers, RELEASE, NOW, require=2)


def test_one_key_under_two_names_is_one_signature(signed, keys):
    twice = signers_of(f"ann {public(keys['ann'])}", f"ben {public(keys['ann'])}")
    with pytest.raises(SignatureError, match="2 different people"):
        verify(DATA, signed["ann"] * 2, twice, RELEASE, NOW, require=2)


def test_a_foreign_signature_beside_a_good_one_is_not_ignored(signed, signers):
    with pytest.raises(SignatureError, match="not among the keys"):
        verify(DATA, signed["ann"] + signed["mallory"], signers, RELEASE, NOW)


def changed(signature, place, bit=1):
    """The signature with one bit of its body changed."""
    lines = signature.decode().splitlines()
    body = bytearray(base64.b64decode("".join(lines[1:-1])))
    body[place] ^= bit
    return "\n".join([lines[0], base64.b64encode(bytes(body)).decode(), lines[-1]]).encode()


def test_another_document_and_another_namespace_are_refused(signed, signers):
    with pytest.raises(SignatureError, match="does not fit the document"):
        verify(DATA + b" ", signed["ann"], signers, RELEASE, NOW)
    with pytest.raises(SignatureError, match="signed for 'reactor-release', not for 'reactor-pin'"):
        verify(DATA, signed["ann"], signers, PIN, NOW)


def test_no_bit_of_a_signature_can_be_changed(signed, signers):
    size = len(base64.b64decode("".join(signed["ann"].decode().splitlines()[1:-1])))
    for place in range(size):
        with pytest.raises(SignatureError):
            verify(DATA, changed(signed["ann"], place), signers, RELEASE, NOW)


def test_a_signature_cut_anywhere_is_refused(signed, signers):
    lines = signed["ann"].decode().splitlines()
    body = base64.b64decode("".join(lines[1:-1]))
    for length in range(len(body)):
        cut = "\n".join([lines[0], base64.b64encode(body[:length]).decode(), lines[-1]])
        with pytest.raises(SignatureError):
            verify(DATA, cut.encode(), signers, RELEASE, NOW)


@given(st.binary(max_size=200))
def test_random_bytes_are_no_signature(data):
    with pytest.raises(SignatureError):
        parse_signatures(data)
    armored = b"-----BEGIN SSH SIGNATURE-----\n" + base64.b64encode(data) + b"\n-----END SSH SIGNATURE-----\n"
    with pytest.raises(SignatureError):
        parse_signatures(armored)


def test_a_file_that_is_too_large_is_refused_before_it_is_parsed(signed):
    with pytest.raises(SignatureError, match="at most 16384 are allowed"):
        parse_signatures(signed["ann"] * 60)


def test_text_around_a_signature_is_refused(signed):
    for data in (b"x" + signed["ann"], signed["ann"] + b"x", b""):
        with pytest.raises(SignatureError, match="not in the format"):
            parse_signatures(data)


def string(data):
    return struct.pack(">I", len(data)) + data


def hardware_signature(flags, namespace=RELEASE, data=DATA):
    """What a FIDO key makes, by PROTOCOL.u2f; returns the line of the signer too."""
    key = Ed25519PrivateKey.generate()
    kind, application = b"sk-ssh-ed25519@openssh.com", b"ssh:"
    blob = string(kind) + string(key.public_key().public_bytes_raw()) + string(application)
    fields = [namespace.encode(), b"", b"sha512", hashlib.sha512(data).digest()]
    message = b"SSHSIG" + b"".join(map(string, fields))
    rest = bytes([flags]) + struct.pack(">I", 7)
    raw = key.sign(hashlib.sha256(application).digest() + rest + hashlib.sha256(message).digest())
    body = b"SSHSIG\0\0\0\1" + b"".join(map(string, [blob, *fields[:3], string(kind) + string(raw) + rest]))
    text = f"-----BEGIN SSH SIGNATURE-----\n{base64.b64encode(body).decode()}\n-----END SSH SIGNATURE-----\n"
    return text.encode(), f"cleo sk-ssh-ed25519@openssh.com {base64.b64encode(blob).decode()}"


def test_a_hardware_key_is_good_if_it_was_touched(tmp_path):
    text, line = hardware_signature(flags=1)
    assert verify(DATA, text, signers_of(line), RELEASE, NOW) == ("cleo",)
    (tmp_path / "allowed").write_text(f"{line}\n")
    (tmp_path / "sig").write_bytes(text)
    command = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        tmp_path / "allowed",
        "-I",
        "cleo",
        "-n",
        RELEASE,
        "-s",
        tmp_path / "sig",
    ]
    done = subprocess.run(command, input=DATA, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    text, line = hardware_signature(flags=0)
    with pytest.raises(SignatureError, match="without a touch"):
        verify(DATA, text, signers_of(line), RELEASE, NOW)
    with pytest.raises(SignatureError):
        verify(DATA, changed(text, -1), signers_of(line), RELEASE, NOW)


def test_a_key_of_another_type_can_not_sign(keys, signers):
    text = sign(DATA, keys["rsa"], RELEASE)
    with pytest.raises(SignatureError, match="a key of type ssh-rsa is not allowed to sign") as caught:
        verify(DATA, text, signers, RELEASE, NOW)
    assert "ssh-keygen -t ed25519" in caught.value.hint


def test_what_keeps_ssh_keygen_from_signing_is_told(keys, tmp_path):
    with pytest.raises(SignatureError, match=r"can't sign with .*: .*No such file"):
        sign(DATA, str(tmp_path / "missing"), RELEASE)
    (tmp_path / "broken").write_text("no key\n")
    with pytest.raises(SignatureError, match="ssh-keygen can't sign with"):
        sign(DATA, str(tmp_path / "broken"), RELEASE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('namespaces="git,file"', "may not sign for reactor-release"),
        ('valid-before="20260131Z"', "is not valid any more"),
        ('valid-after="20260201Z"', "is not valid yet"),
        ('namespaces="reactor-release",valid-before="202601311358Z"', "is not valid any more"),
    ],
)
def test_options_of_a_signer_restrict_what_and_when_he_signs(signed, keys, options, words):
    signers = signers_of(f"ann {options} {public(keys['ann'])} comment here")
    with pytest.raises(SignatureError, match=words):
        verify(DATA, signed["ann"], signers, RELEASE, NOW)


def test_options_of_a_signer_that_match_allow_the_signature(signed, keys):
    line = f'"ann,ann@x" namespaces="reactor-*",valid-after="20260131Z",valid-before="20260201Z" {public(keys["ann"])}'
    assert verify(DATA, signed["ann"], signers_of("# people", "", line), RELEASE, NOW) == ("ann,ann@x",)
    assert verify(DATA, signed["ann"], signers_of(line), RELEASE, None) == ("ann,ann@x",)


@pytest.mark.parametrize(
    ("made", "clock", "refusal"),
    [
        (NOW - 60, 0.0, None),
        (NOW + 1e6, 0.0, "is not valid any more"),
        (NOW + 1e6, NOW - 30, "is not valid any more"),
        (NOW - 60, NOW + 1e6, "is not valid any more"),
    ],
)
def test_a_key_that_has_expired_signs_for_no_clock_and_no_date(keys, made, clock, refusal):
    signers = signers_of(f'ann valid-before="20260201Z" {public(keys["ann"])}')
    pin = Pin("h1", "web", "sha256-" + "0" * 64, made).to_bytes()
    signed = SignedPin(pin.decode(), sign(pin, keys["ann"], PIN).decode())
    host = SimHost("h1", ["web"], signers, clock=lambda: clock).host
    with pytest.raises(SignatureError, match=refusal) if refusal else nullcontext():
        assert read_pin(host, "web", signed).created == made


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDxLMTqWqoI9oZm1+YYJQWcH6TMdbzZ9SLfVzYTwR0Mp"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names nobody who may sign"),
        ("# nobody\n", "names nobody who may sign"),
        ("ann\n", "no Ed25519 key with a name before it"),
        (KEY, "no Ed25519 key with a name before it"),
        (f"ann a b {KEY}", "no Ed25519 key with a name before it"),
        (f"ann cert-authority {KEY}", "the option 'cert-authority' is not understood"),
        (f'ann valid-before="soon" {KEY}', "'soon' is not a time such as"),
        (f'ann valid-before="20261399Z" {KEY}', "'20261399Z' is not a time such as"),
        (f"ann {KEY[:-4]}", "damaged"),
        (f"ann {KEY}=!", "not base64|padding"),
        (
            KEY.replace("ssh-", "ann sk-ssh-").replace("ed25519 ", "ed25519@openssh.com "),
            "damaged|not of type",
        ),
        (f"ann {KEY}\nben {KEY[:40]}", "allowed_signers:2: "),
    ],
)
def test_a_file_of_signers_that_is_not_understood_is_an_error(text, words):
    with pytest.raises(SignersError, match=words):
        parse_signers(text, "allowed_signers")
