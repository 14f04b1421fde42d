"""A server that speaks the part of Vault's HTTP API that reactor uses: KV 1 and 2, tokens, AppRole.

Its answers are those that Vault 1.21.4 gave to `on_vault.py`, without what reactor does not read.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_WRONG_ENGINE = "Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use."
_DELETED = {
    "data": None,
    "metadata": {"deletion_time": "2026-11-26T20:10:37.6Z", "destroyed": False, "version": 1},
}
_DENIED = {"errors": ["1 error occurred:\n\t* permission denied\n\n"]}


class Vault:
    """``tokens`` are valid; ``secrets`` has the data by path, None for what is deleted; ``version`` is that of the
    engine at ``secret/``.

    Paths that are ``forbidden`` are shown to no token. Tokens of a login have a ``lease`` in seconds.
    """

    def __init__(self):
        self.tokens = {"root-token-of-the-test"}
        self.secrets = {}
        self.version = 2
        self.sealed = False
        self.redirect = None
        self.asked = []
        self.logins = 0
        self.renewals = 0
        self.lease = 60
        self.forbidden = set()

    def answer(self, method, path, token, body):
        self.asked.append((method, path, token))
        if self.sealed:
            return 503, {"errors": ["Vault is sealed"]}
        if path.startswith("/v1/auth/"):
            return self._of_tokens(path, token, body)
        if token not in self.tokens:
            return 403, {"errors": ["2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"]}
        if path.startswith("/v1/sys/internal/ui/mounts/"):
            if not path.startswith("/v1/sys/internal/ui/mounts/secret"):
                return 403, {
                    "errors": [
                        "preflight capability check returned 403, please ensure client's policies grant access"
                    ]
                }
            return 200, {"data": {"path": "secret/", "type": "kv", "options": {"version": str(self.version)}}}
        return self._of_engine(path)

    def _of_tokens(self, path, token, body):
        if path == "/v1/auth/approle/login":
            if body != {"role_id": "web", "secret_id": "secret-id-of-the-role"}:
                return 400, {"errors": ["invalid role or secret ID"]}
            self.logins += 1
            token = f"login-token-{self.logins}"
            self.tokens.add(token)
        elif token not in self.tokens:
            return 403, {"errors": ["2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"]}
        elif path == "/v1/auth/token/lookup-self":
            return 200, {"data": {"id": token, "ttl": self.lease, "renewable": True}, "auth": None}
        elif path == "/v1/auth/token/renew-self":
            self.renewals += 1
        else:
            return 404, {
                "errors": [f'no handler for route "{path.removeprefix("/v1/")}". route entry not found.']
            }
        return 200, {
            "data": None,
            "auth": {"client_token": token, "lease_duration": self.lease, "renewable": True},
        }

    def _of_engine(self, path):  # noqa: PLR0911 - a line for each answer
        middle = "/v1/secret/data/" if self.version == 2 else "/v1/secret/"
        if not path.startswith("/v1/secret/"):
            route = path.removeprefix("/v1/")
            return 404, {"errors": [f'no handler for route "{route}". route entry not found.']}
        if not path.startswith(middle):
            return 404, {"data": None, "warnings": [_WRONG_ENGINE]}
        name = path.removeprefix(middle)
        if name in self.forbidden:
            return 403, _DENIED
        if name not in self.secrets:
            return 404, {"errors": []}
        data = self.secrets[name]
        if data is None:
            return 404, {"data": _DELETED}
        if self.version == 1:
            return 200, {"data": data, "lease_duration": 2764800}
        return 200, {
            "data": {"data": data, "metadata": {"deletion_time": "", "destroyed": False, "version": 1}}
        }


@contextmanager
def served(vault, tls=None):
    """Yield the address of a server for ``vault``. ``tls`` is the context of its certificate."""

    class Handler(BaseHTTPRequestHandler):
        def respond(self):
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, answer = vault.answer(self.command, self.path, self.headers.get("X-Vault-Token"), body)
            content = json.dumps(answer).encode()
            if vault.redirect:
                status = 307
            self.send_response(status)
            if vault.redirect:
                self.send_header("Location", vault.redirect)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = respond  # noqa: N815 - names of the library

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
