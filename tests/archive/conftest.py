import ssl

import pytest
import trustme
from archive_server import ArchiveServer

from reactor.resource.backup_store import state_directory_for


@pytest.fixture
def server():
    with ArchiveServer() as server:
        yield server


@pytest.fixture(autouse=True)
def records(tmp_path_factory):
    """A state directory: what is recorded of an archive is kept there."""
    with state_directory_for(str(tmp_path_factory.mktemp("records"))):
        yield


@pytest.fixture
def authority():
    return trustme.CA()


@pytest.fixture
def tls(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def trusted(authority, tmp_path_factory, monkeypatch):
    """This host trusts the authority, as it would one in /etc/ssl/certs."""
    certificate = tmp_path_factory.mktemp("trust") / "ca.pem"
    authority.cert_pem.write_to_path(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
