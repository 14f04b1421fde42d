"""A secret is masked in every form that docs/manifest-language.md names, and what stands beside it is not."""

import base64
import html
import json
import random
import shlex
import string
import subprocess
import time
import urllib.parse

import pytest

from reactor.resource import redaction

SECRETS = ["hunter2x", "p@ss w/rd+é", 'it\'s "quo\\ted" & <b>', "x" * 200, "Zürich-ключ-鍵", "a+b/c d=?;"]
KEY = (
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7kHnvDBXc0hPRQd1\n"
    "q83vO1hbVN2gXJ3hGc0eC1kSEhahRANCAAQw0Lf5w4Ec\n"
    "-----END PRIVATE KEY-----\n"
)


def hexadecimal(secret, separator=""):
    return secret.encode().hex(separator) if separator else secret.encode().hex()


FORMS = {
    "as it is": str,
    "backwards": lambda secret: secret[::-1],
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 for URLs": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "base64 without padding": lambda secret: base64.b64encode(secret.encode()).decode().rstrip("="),
    "hex": hexadecimal,
    "hex in capitals": lambda secret: hexadecimal(secret).upper(),
    "hex with colons": lambda secret: hexadecimal(secret, ":"),
    "hex with spaces": lambda secret: hexadecimal(secret, " "),
    "hex in words": lambda secret: secret.encode().hex(" ", -2),
    "bytes in C": lambda secret: ", ".join(f"0x{byte:02x}" for byte in secret.encode()),
    "for a URL": lambda secret: urllib.parse.quote(secret, safe=""),
    "for a path": urllib.parse.quote,
    "for a query": urllib.parse.quote_plus,
    "for a URL in small letters": lambda secret: (
        urllib.parse.quote(secret, safe="").lower() if secret.islower() else urllib.parse.quote(secret)
    ),
    "all of it for a URL": lambda secret: "".join(f"%{byte:02X}" for byte in secret.encode()),
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON in UTF-8": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda secret: json.dumps(json.dumps(secret))[1:-1],
    "JSON for HTML": lambda secret: (
        json.dumps(secret)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    ),
    "Python": lambda secret: repr(secret)[1:-1],
    "Python in ASCII": lambda secret: ascii(secret)[1:-1],
    "bytes in Python": lambda secret: repr(secret.encode())[2:-1],
    "for a shell": lambda secret: shlex.quote(secret).removeprefix("'").removesuffix("'"),
    "for a shell, with backslashes": lambda secret: "".join(c if c.isalnum() else f"\\{c}" for c in secret),
    "HTML": html.escape,
    "HTML by numbers": lambda secret: "".join(f"&#{ord(c)};" for c in secret),
    "SQL": lambda secret: secret.replace("'", "''"),
}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_masked_in_every_form_and_its_neighbours_are_not(form, secret):
    redaction.register_secret(secret)
    encoded = FORMS[form](secret)
    masked = redaction.redact(f"begin: {encoded} :end")
    assert encoded not in masked
    left = masked.removeprefix("begin: ").removesuffix(" :end")
    assert masked == f"begin: {left} :end"
    assert left.replace(redaction.MASK, "").strip('=\\"0x') == ""
    assert redaction.redact(masked) == masked


@pytest.mark.parametrize(
    "command",
    ["xxd", "xxd -p", "hexdump -C", "od -An -tx1", "base64", "base64 -w60", "openssl enc -base64", "rev"],
)
@pytest.mark.parametrize("secret", ["S3cr3tW0rdOfTheHouse-of-many-letters-and-digits-0123456789" * 3, KEY])
def test_what_programs_make_of_a_long_secret_is_masked_line_by_line(command, secret):
    redaction.register_secret(secret)
    done = subprocess.run(["sh", "-c", command], input=secret, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command.split()[0]} is not here")
    armour = {line[::-1] for line in secret.split("\n") if "---" in line} if command == "rev" else set()
    lines = [
        line for line in done.stdout.splitlines() if line not in armour and len(line) > len("=".rjust(8))
    ]
    assert lines
    for line in lines:
        assert redaction.MASK in redaction.redact(line), line


def test_each_line_of_a_key_is_masked_and_the_armour_of_any_key_is_not():
    redaction.register_secret(KEY)
    for line in KEY.splitlines():
        assert (redaction.redact(line) == line) is line.startswith("-----")


def test_two_secrets_that_overlap_are_both_masked_whole():
    redaction.register_secret(["abcdefgh", "efghijkl"])
    assert redaction.redact("<abcdefghijkl>") == "<[secret]>"


def test_a_text_of_less_than_four_characters_is_not_masked_and_known_to_be_so():
    redaction.register_secret("abcd")
    assert redaction.can_mask_all()
    redaction.register_secret("abc")
    assert redaction.redact("abc") == "abc"
    assert not redaction.can_mask_all()


def test_nothing_is_found_in_what_holds_no_secret():
    redaction.register_secret(SECRETS)
    plain = "file#/etc/motd changed 50% of \\server\\share & <more> 0xdeadbeef 68:75:6e 100%25 &amp; \\u003c"
    assert redaction.redact(plain) == plain


@pytest.mark.parametrize("seed", range(3))
def test_no_random_secret_is_left_in_any_form(seed):
    rng = random.Random(seed)
    letters = string.printable.replace("\r", "").replace("\v", "").replace("\f", "").replace("\n", "")
    for _ in range(100):
        secret = "x" + "".join(rng.choices(letters, k=rng.randint(6, 40))) + "x"
        redaction.forget_all()
        redaction.register_secret(secret)
        for form, encode in FORMS.items():
            assert redaction.MASK in redaction.redact(f"a {encode(secret)} b"), (form, secret)


def test_a_thousand_secrets_cost_no_more_than_one():
    """Times are compared with each other, and taken in turns, so a slow or busy host makes no difference."""
    text = "file#/etc/app/app.conf  changed  replaced the content, mode 0644 -> 0600 (drift, 12.3 ms)\n" * 100

    def best(count):
        redaction.forget_all()
        rng = random.Random(1)
        redaction.register_secret(["".join(rng.choices(string.ascii_letters, k=24)) for _ in range(count)])
        redaction.redact("")
        times = []
        for _ in range(20):
            begun = time.thread_time()
            redaction.redact(text)
            times.append(time.thread_time() - begun)
        return min(times)

    one, thousand = zip(*((best(1), best(1000)) for _ in range(5)), strict=True)
    assert min(thousand) < 5 * min(one)
