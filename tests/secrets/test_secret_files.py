"""Files of age and SOPS, recorded from the real programs: what they hold is read, and what was changed is refused."""

import os
import re
import shutil
from pathlib import Path

import pytest

from reactor.language.secrets import SecretText
from reactor.secrets.declarations import Source
from reactor.secrets.errors import SecretError
from reactor.secrets.store import SecretStore

RECORDED = Path(__file__).parent / "vectors"
PASSWORD = "Grüße-S3cr3t & <more>: 0815"
DB = {
    "user": "shop", "password": PASSWORD, "port": 5432, "ratio": 0.25, "tls": True, "empty": "", "nothing": None,
    "hosts": ["one.example.org", {"name": "two", "weight": 3}], "multi": "first line of it\nsecond line of it\n",
}  # fmt: skip


@pytest.fixture
def vectors(tmp_path):
    found = tmp_path / "vectors"
    shutil.copytree(RECORDED, found)
    for each in found.iterdir():
        each.chmod(0o600)
    return found


def read(base, environ=None, **source):
    reads = set()
    value = SecretStore(environ or {}).value("name", Source(**source), str(base), reads)
    return value, reads


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("db.yaml", {"db": DB, "plain_unencrypted": "visible"}),
        ("rules.yaml", {"db": DB, "plain_unencrypted": "visible"}),
        (
            "db.json",
            {"token": "tok-S3cr3t-json-1234", "count": 7, "ratio": 1.5, "deep": {"list": ["a", True, None]}},
        ),
        ("db.env", {"PASSWORD": "env-S3cr3t-5678", "MULTI": "one\ntwo", "EMPTY": ""}),
        (
            "db.ini",
            {
                "DEFAULT": {"top": "level-S3cr3t"},
                "db": {
                    "user": "shop",
                    "password": 'Gr:S3cr3t=& 0815 "x"',
                    "port": "5432",
                    "empty": "",
                    "flag": "true",
                },
                "db.replica": {"host": "two.example.org", "multi": "one\ntwo"},
            },
        ),
        ("whole.txt", "whole file S3cr3t-9999\nsecond\n"),
    ],
)
def test_a_file_of_sops_has_the_values_that_were_encrypted(vectors, file, wanted):
    value, reads = read(vectors, sops=file, identity="keys.txt")
    assert value == wanted
    assert reads == {str(vectors / file), str(vectors / "keys.txt")}


def test_every_string_of_a_file_of_sops_is_marked(vectors):
    value, _ = read(vectors, sops="db.yaml", identity="keys.txt")
    assert isinstance(value["db"]["password"], SecretText)
    assert isinstance(value["db"]["hosts"][1]["name"], SecretText)


@pytest.mark.parametrize(
    ("file", "identity", "wanted"),
    [
        ("armored.age", "keys.txt", "api-S3cr3t-age-4242"),
        ("raw.age", "keys.txt", "raw-S3cr3t-age-4343\n"),
        ("ssh.age", "sshk", "ssh-S3cr3t"),
    ],
)
def test_a_file_of_age_has_what_was_encrypted(vectors, file, identity, wanted):
    assert read(vectors, age=file, identity=identity)[0] == wanted


def test_the_key_is_found_where_sops_looks_for_it(vectors, tmp_path):
    key = (vectors / "keys.txt").read_text()
    usual = tmp_path / "sops/age/keys.txt"
    usual.parent.mkdir(parents=True)
    usual.write_text(key)
    usual.chmod(0o600)
    for environ in (
        {"SOPS_AGE_KEY": key},
        {"SOPS_AGE_KEY_FILE": str(vectors / "keys.txt")},
        {"XDG_CONFIG_HOME": str(tmp_path)},
    ):
        assert read(vectors, environ, age="armored.age")[0] == "api-S3cr3t-age-4242"


def refusal(*arguments, **source):
    with pytest.raises(SecretError) as found:
        read(*arguments, **source)
    for part in ("S3cr3t", "0815", "AGE-SECRET-KEY-1Q"):
        assert part not in f"{found.value.message}{found.value.hint}"
    return found.value


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ({"age": "armored.age", "identity": "other.txt"}, "R0131", "no key of this host opens"),
        ({"sops": "db.yaml", "identity": "other.txt"}, "R0131", "no key of this host opens"),
        ({"age": "armored.age"}, "R0131", "there is no age key"),
        ({"age": "db.yaml", "identity": "keys.txt"}, "R0132", "is not encrypted with age"),
        ({"sops": "plain.yaml", "identity": "keys.txt"}, "R0132", "is not encrypted by SOPS"),
        ({"sops": "armored.age", "identity": "keys.txt"}, "R0132", "is not encrypted by SOPS"),
        ({"sops": "db.yaml", "format": "json", "identity": "keys.txt"}, "R0132", "not valid as json"),
        ({"age": "missing.age", "identity": "keys.txt"}, "R0130", "No such file"),
        ({"age": "armored.age", "identity": "missing.txt"}, "R0130", "No such file"),
        ({"age": "armored.age", "identity": "db.yaml"}, "R0131", "a key that is not of age"),
        ({"credential": "db"}, "R0136", "CREDENTIALS_DIRECTORY is not set"),
        ({"file": "."}, "R0130", "directory"),
    ],
)
def test_what_can_not_be_read_says_why_and_quotes_nothing(vectors, tmp_path, source, code, message):
    (vectors / "plain.yaml").write_text("password: S3cr3t\n")
    error = refusal(vectors, {"XDG_CONFIG_HOME": str(tmp_path)}, **source)
    assert (error.code, message in error.message) == (code, True), error.message


CHANGES = {
    "a value is removed": (r"    user: .*\n", ""),
    "a value is put into another place": (r"(    user: )(.*)\n(    password: )(.*)\n", r"\1\4\n\3\2\n"),
    "a value is added in clear": (r"    empty: \"\"", '    empty: ""\n    extra: S3cr3t'),
    "a value in clear is changed": (r"plain_unencrypted: visible", "plain_unencrypted: other"),
    "two values change places": (r"(        - ENC.*\n)(        - ENC.*\n)", r"\2\1"),
    "the MAC is removed": (r"    mac: .*\n", ""),
    "the time of the change is replaced": (r"lastmodified: .*\n", 'lastmodified: "2020-01-01T00:00:00Z"\n'),
    "a byte of a value is changed": (r"data:tEq63Q==", "data:tEq63g=="),
    "the rule is changed": (r"unencrypted_suffix: _unencrypted", "encrypted_suffix: word"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_of_sops_that_was_changed_is_refused(vectors, change):
    pattern, replacement = CHANGES[change]
    path = vectors / "db.yaml"
    text = path.read_text()
    changed = re.sub(pattern, replacement, text, count=1)
    assert changed != text
    path.write_text(changed)
    if change == "two values change places":  # a comment, which is encrypted too, and which no MAC covers
        assert read(vectors, sops="db.yaml", identity="keys.txt")[0]["db"]["hosts"][0] == "one.example.org"
        return
    assert refusal(vectors, sops="db.yaml", identity="keys.txt").code in {"R0132", "R0133"}


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"user .*\n", ""),
        (r"\[db\]", "[other]"),
        (r"(user +=)(.*)\n(password =)(.*)\n", r"\1\4\n\3\2\n"),
        (r"empty .*\n", "empty = S3cr3t\n"),
        (r"\[db.replica\]", "[db]"),
        (r"mac  .*\n", ""),
        (r"\[sops\]", "[sop]"),
    ],
)
def test_an_ini_file_of_sops_that_was_changed_is_refused(vectors, pattern, replacement):
    path = vectors / "db.ini"
    changed = re.sub(pattern, replacement, path.read_text(), count=1)
    assert changed != path.read_text()
    path.write_text(changed)
    assert refusal(vectors, sops="db.ini", identity="keys.txt").code in {"R0132", "R0133"}


def test_a_key_that_every_user_can_read_is_refused(vectors):
    (vectors / "keys.txt").chmod(0o644)
    assert "can be read by every user" in refusal(vectors, age="armored.age", identity="keys.txt").message


def test_a_file_that_another_user_replaced_is_refused(vectors):
    other = vectors / "armored.age"
    os.chown(other, 1234, 1234)
    assert "can't be trusted" in refusal(vectors, age="armored.age", identity="keys.txt").message
    other.unlink()
    other.symlink_to(vectors / "raw.age")
    os.lchown(other, 1234, 1234)
    assert "can't be trusted" in refusal(vectors, age="armored.age", identity="keys.txt").message


def test_a_pipe_is_refused_and_not_waited_for(vectors):
    os.mkfifo(vectors / "pipe", 0o600)
    assert "not a regular file" in refusal(vectors, file="pipe").message


def test_a_credential_of_systemd_is_read_from_its_directory(tmp_path):
    (tmp_path / "db").write_text("cred-S3cr3t\n")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert read(tmp_path, environ, credential="db")[0] == "cred-S3cr3t\n"
    assert read(tmp_path, environ, credential="db", trim=True)[0] == "cred-S3cr3t"
    assert refusal(tmp_path, environ, credential="../db").code == "R0136"
    assert refusal(tmp_path, environ, credential="other").code == "R0136"
