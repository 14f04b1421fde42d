"""Makes the TLS context that trusts the certificate authorities in a file, and shows a certificate of our own."""

from __future__ import annotations

import errno
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from reactor.trust.inputs import open_input

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def tls_context(
    authorities: str | None, certificate: str | None = None, key: str | None = None
) -> ssl.SSLContext:
    """Return a context that trusts the file ``authorities``, by default those of the host.

    ``certificate`` is the file of our own certificate, ``key`` that of its key, if it is in another file. Each file is an
    input: who can change it chooses the servers that get our passwords. Raises DistrustedError, and OSError.
    """
    if authorities is None:
        context = ssl.create_default_context()
    else:
        with _opened(authorities) as place, _explained(f"{authorities} has no certificate in PEM"):
            context = ssl.create_default_context(cafile=place)
    if certificate is not None:
        pair = f"{certificate} with the key {key}" if key else certificate
        words = f"{pair} is no certificate in PEM with its key, or the key is encrypted"
        with (
            _opened(certificate) as place,
            _opened(key or certificate) as key_place,
            _explained(words),
        ):
            context.load_cert_chain(place, key_place, password=_no_password)
    return context


def _no_password() -> str:
    """Return no password: otherwise OpenSSL would ask for one on the terminal, and wait."""
    return ""


@contextmanager
def _explained(words: str) -> Iterator[None]:
    """Raise what OpenSSL says of the content of a file, such as "PEM lib", in ``words``."""
    try:
        yield
    except ssl.SSLError as error:
        raise OSError(errno.EINVAL, words) from error


@contextmanager
def _opened(path: str) -> Iterator[str]:
    """Open an input, and yield a path that leads to what was opened, whatever is at ``path`` meanwhile."""
    descriptor = open_input(path, _READ)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
