"""A small ACME server (RFC 8555) on loopback, which checks nonces, signatures, challenges and requests."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import ssl
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class AcmeServer:
    """Its directory is at `directory`. ``challenge_port`` serves the names; ``records`` are the TXT records."""

    def __init__(self, ca_file, challenge_port):
        self.authority = trustme.CA()
        self.authority.cert_pem.write_to_path(ca_file)
        self.challenge_port = challenge_port
        self.records = {}
        self.nonces, self.accounts, self.orders = set(), {}, {}
        self.refused_nonces = 1
        self.issued = 0
        self.seen_urls = []
        server = self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.root = f"https://127.0.0.1:{server.server_port}"
        self.directory = f"{self.root}/directory"

    def answer(self, path, body):
        """The status, document and further header fields of an answer to a signed request."""
        protected = json.loads(decoded(body["protected"]))
        if protected["nonce"] not in self.nonces or self.refused_nonces:
            self.refused_nonces = max(0, self.refused_nonces - 1)
            return 400, _problem("badNonce", "that nonce is not known"), {}
        self.nonces.remove(protected["nonce"])
        assert protected["url"] == self.root + path
        jwk = protected.get("jwk") or self.accounts[protected["kid"]]
        _verify(jwk, body)
        payload = json.loads(decoded(body["payload"])) if body["payload"] else None
        what, _, key = path.strip("/").partition("/")
        return getattr(self, f"_{what}")(key, payload, jwk)

    def _account(self, key, payload, jwk):
        assert payload["termsOfServiceAgreed"]
        url = f"{self.root}/account/{hashlib.sha256(json.dumps(jwk).encode()).hexdigest()[:8]}"
        self.accounts[url] = jwk
        return 201, {"status": "valid"}, {"Location": url}

    def _order(self, key, payload, jwk):
        if payload is None:
            return 200, self.orders[key], {}
        key = secrets.token_hex(4)
        order = self.orders[key] = {
            "status": "pending",
            "identifiers": payload["identifiers"],
            "finalize": f"{self.root}/finalize/{key}",
            "authorizations": [
                f"{self.root}/authorization/{key}-{n}" for n in range(len(payload["identifiers"]))
            ],
        }
        for number, identifier in enumerate(payload["identifiers"]):
            self.orders[f"{key}-{number}"] = {
                "status": "pending",
                "identifier": {**identifier, "value": identifier["value"].removeprefix("*.")},
                "challenges": [
                    {
                        "type": kind,
                        "url": f"{self.root}/challenge/{key}-{number}",
                        "token": encoded(secrets.token_bytes(24)),
                    }
                    for kind in ("dns-01", *(() if identifier["value"].startswith("*.") else ("http-01",)))
                ],
            }
        return 201, order, {"Location": f"{self.root}/order/{key}"}

    def _authorization(self, key, payload, jwk):
        return 200, self.orders[key], {}

    def _challenge(self, key, payload, jwk):
        """Look whether any challenge of the authorization is answered."""
        authorization = self.orders[key]
        name = authorization["identifier"]["value"]
        canonical = json.dumps(jwk, sort_keys=True, separators=(",", ":")).encode()
        print_of_key = encoded(hashlib.sha256(canonical).digest())
        is_answered = False
        for challenge in authorization["challenges"]:
            wanted = f"{challenge['token']}.{print_of_key}"
            if challenge["type"] == "dns-01":
                is_answered |= self.records.get(f"_acme-challenge.{name}") == encoded(
                    hashlib.sha256(wanted.encode()).digest()
                )
            else:
                is_answered |= self._served(challenge["token"]) == wanted
        authorization["status"] = "valid" if is_answered else "invalid"
        if not is_answered:
            authorization["challenges"][0]["error"] = _problem("unauthorized", f"nothing answers for {name}")
        return 200, authorization["challenges"][0], {}

    def _served(self, token):
        url = f"http://127.0.0.1:{self.challenge_port}/.well-known/acme-challenge/{token}"
        self.seen_urls.append(url)
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def _finalize(self, key, payload, jwk):
        order = self.orders[key]
        authorizations = [self.orders[f"{key}-{n}"] for n in range(len(order["identifiers"]))]
        assert all(each["status"] == "valid" for each in authorizations)
        request = x509.load_der_x509_csr(decoded(payload["csr"]))
        assert request.is_signature_valid
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert sorted(str(name.value) for name in names) == sorted(
            each["value"] for each in order["identifiers"]
        )
        issuer = x509.load_pem_x509_certificate(self.authority.cert_pem.bytes())
        template = x509.load_pem_x509_certificate(self.authority.issue_cert("x").cert_chain_pems[0].bytes())
        builder = x509.CertificateBuilder(
            issuer.subject, x509.Name([]), request.public_key(), x509.random_serial_number(),
            template.not_valid_before_utc, template.not_valid_after_utc, [],
        ).add_extension(names, critical=True)  # fmt: skip
        signer = serialization.load_pem_private_key(self.authority.private_key_pem.bytes(), None)
        made = builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        self.issued += 1
        self.orders[f"certificate-{key}"] = made + issuer.public_bytes(serialization.Encoding.PEM)
        order |= {"status": "valid", "certificate": f"{self.root}/certificate/{key}"}
        return 200, order, {}

    def _certificate(self, key, payload, jwk):
        return 200, self.orders[f"certificate-{key}"], {}


def _verify(jwk, body):
    numbers = [int.from_bytes(decoded(jwk[each]), "big") for each in ("x", "y")]
    public = ec.EllipticCurvePublicNumbers(*numbers, ec.SECP256R1()).public_key()
    signature = decoded(body["signature"])
    der = encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    public.verify(der, f"{body['protected']}.{body['payload']}".encode(), ec.ECDSA(hashes.SHA256()))


def _problem(kind, detail):
    return {"type": f"urn:ietf:params:acme:error:{kind}", "detail": detail}


def _handler_of(acme):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            names = {"newNonce": "nonce", "newAccount": "account", "newOrder": "order"}
            self._send(200, {name: f"{acme.root}/{path}" for name, path in names.items()}, {})

        def do_HEAD(self):
            self._send(200, b"", {})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.headers["Content-Type"] == "application/jose+json"
            self._send(*acme.answer(self.path, body))

        def _send(self, status, document, fields):
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            nonce = secrets.token_urlsafe(8)
            acme.nonces.add(nonce)
            self.send_response(status)
            for name, value in {"Replay-Nonce": nonce, "Content-Length": str(len(body)), **fields}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    return Handler


@contextmanager
def serving(server):
    """Serve in a thread during the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
