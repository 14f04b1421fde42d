"""The TLS contexts that are made of files."""

import os
import pty
import subprocess
import sys

import pytest

from reactor import tls_context

LOAD = "import sys, reactor; reactor.tls_context(None, *sys.argv[1:])"


@pytest.fixture
def pair(tmp_path):
    """A certificate, and its key, which is encrypted."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-passout", "pass:sesame", "-subj", "/CN=x",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return str(certificate), str(key)


def test_an_encrypted_key_is_refused_and_nobody_at_the_terminal_is_asked_for_its_password(pair):
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-c", LOAD, *pair])
    said = b""
    while b"OSError" not in said and b"pass phrase" not in said:
        said += os.read(terminal, 1 << 16)
    os.close(terminal)
    os.waitpid(process, 0)
    assert b"pass phrase" not in said


def test_a_file_that_is_no_certificate_is_named(tmp_path, pair):
    (tmp_path / "notes.txt").write_text("no certificate")
    with pytest.raises(OSError, match=r"notes\.txt has no certificate in PEM"):
        tls_context(str(tmp_path / "notes.txt"))
    with pytest.raises(OSError, match=r"cert\.pem with the key .*key\.pem .* the key is encrypted"):
        tls_context(None, *pair)
