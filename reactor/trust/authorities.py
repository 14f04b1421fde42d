"""Makes the TLS context that trusts the certificate authorities in a file, and shows a certificate of our own."""

from __future__ import annotations

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
        with _opened(authorities) as place:
            context = ssl.create_default_context(cafile=place)
    if certificate is not None:
        with _opened(certificate) as place, _opened(key or certificate) as key_place:
            context.load_cert_chain(place, key_place)
    return context


@contextmanager
def _opened(path: str) -> Iterator[str]:
    """Open an input, and yield a path that leads to what was opened, whatever is at ``path`` meanwhile."""
    descriptor = open_input(path, _READ)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
