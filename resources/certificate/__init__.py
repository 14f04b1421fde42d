"""The kind ``certificate``: a private key and its certificate, renewed before it expires.

`kind` holds the properties and the plan, `profile` their types, and `rules` what goes together. `pair` keeps key and
certificate in a directory, so that both are replaced at once. `maker` makes what is missing. `issuing` makes keys,
requests and certificates, and `inspection` compares them with what is wanted. `acme` orders certificates, by the
requests of `acme_wire`, and `challenges` proves that the names are ours. `library` imports cryptography, which no other
kind needs.
"""

from reactor.resources.certificate.kind import Certificate

__all__ = ["Certificate"]
