"""The kind ``ca_certificate``: one authority that the host trusts, in the store of Debian or Fedora."""

from reactor.resources.ca_certificate.kind import CaCertificate

__all__ = ["CaCertificate"]
