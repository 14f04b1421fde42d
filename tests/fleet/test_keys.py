"""nkeys, credentials and JWTs: what `nsc` and `nk` write is read, and damage is noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.fleet.wire.credentials import (
    Credentials,
    CredentialsError,
    encode_credentials,
    parse_credentials,
    parse_seed,
)
from reactor.fleet.wire.nkeys import Key, NkeyError, role_of, verify
from reactor.fleet.wire.tokens import TokenError, claims_of, expiry_of, has_good_signature, signed_token

SEED = "SUAKYRHVIOREXV7EUZTBHUHL7NUMHPMAS7QMDU3GTIUWEI5LDNOXD43IZY"
PUBLIC = "UD466L6EBCM3YY5HEGHJANNTN4LSKTSUXTH7RILHCKEQMQHTBNLHJJXT"
"""The example of the `nk` tool."""


def test_a_seed_gives_the_public_key_that_the_tools_of_nats_give():
    assert Key.from_seed(SEED).public == PUBLIC
    assert Key.from_seed(SEED).seed == SEED


@pytest.mark.parametrize("role", ["account", "cluster", "operator", "server", "user"])
def test_a_new_key_survives_its_text(role):
    key = Key.generate(role)
    again = Key.from_seed(f" {key.seed}\n")
    assert (again.public, again.seed, again.role) == (key.public, key.seed, role)
    assert role_of(key.public) == role
    assert (
        key.public[0] == {"account": "A", "cluster": "C", "operator": "O", "server": "N", "user": "U"}[role]
    )
    assert verify(key.public, b"data", again.sign(b"data"))
    assert not verify(key.public, b"date", again.sign(b"data"))
    assert key.seed not in repr(key)


@given(st.integers(0, 57), st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
def test_one_wrong_letter_is_noticed(at, letter):
    seed = Key("user", bytes(range(32))).seed
    changed = seed[:at] + letter + seed[at + 1 :]
    if changed != seed:
        with pytest.raises(NkeyError):
            Key.from_seed(changed)


@pytest.mark.parametrize("text", ["", "SU", "not base32!", "SUAä", PUBLIC])
def test_what_is_no_seed_is_refused_without_being_shown(text):
    with pytest.raises(NkeyError) as caught:
        Key.from_seed(text)
    assert len(text) < 5 or text not in str(caught.value)


def test_credentials_survive_their_file_and_foreign_line_ends():
    key = Key.generate()
    text = encode_credentials(Credentials(key, "a.b.c"))
    for variant in (
        text,
        text.replace("\n", "\r\n"),
        "# comment\n\n" + text.replace("-----BEGIN", "---BEGIN"),
    ):
        found = parse_credentials(variant)
        assert (found.jwt, found.key.public) == ("a.b.c", key.public)
    answer = found.answer("nonce")
    assert set(answer) == {"jwt", "sig"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no block for the JWT"),
        ("-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n", "no block for the seed"),
        ("-----BEGIN NATS USER JWT-----\na.b.c\n-----BEGIN USER NKEY SEED-----\nSUAX\n", "damaged"),
    ],
)
def test_half_a_credentials_file_says_what_is_missing(text, reason):
    with pytest.raises(CredentialsError, match=reason):
        parse_credentials(text)


def test_an_nkey_file_may_have_comments():
    key = Key.generate()
    assert parse_seed(f"# {key.public}\n\n{key.seed}\n").key.public == key.public
    assert set(parse_seed(key.seed).answer("n")) == {"nkey", "sig"}
    with pytest.raises(CredentialsError, match="no seed"):
        parse_seed("nothing")


def test_a_token_says_who_and_until_when():
    account, user = Key.generate("account"), Key.generate()
    token = signed_token(
        "user", user.public, "web7", account, {"subs": -1}, issued=1_800_000_000, expires=1_900_000_000
    )
    claims = claims_of(token)
    assert (claims["sub"], claims["iss"], claims["name"]) == (user.public, account.public, "web7")
    assert claims["nats"] == {"subs": -1, "type": "user", "version": 2}
    assert expiry_of(token) == 1_900_000_000
    assert has_good_signature(token)
    assert not has_good_signature(token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB"))


@pytest.mark.parametrize("token", ["", "a.b", "a.!.c", "a.W10.c", "a.bm8.c", "ä.ä.ä"])
def test_what_is_no_token_is_refused(token):
    with pytest.raises(TokenError):
        expiry_of(token)
