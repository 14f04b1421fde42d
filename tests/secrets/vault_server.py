"""A server that speaks the part of Vault's HTTP API that reactor uses: KV 1 and 2, tokens, AppRole."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Vault:
    """``tokens`` are valid; ``secrets`` has the data by path; ``version`` is that of the engine at ``secret/``."""

    def __init__(self):
        self.tokens = {"root-token-of-the-test"}
        self.secrets = {}
        self.version = 2
        self.sealed = False
        self.redirect = None
        self.asked = []
        self.logins = 0

    def answer(self, method, path, token, body):  # noqa: PLR0911 - a line for each answer
        self.asked.append((method, path, token))
        if self.sealed:
            return 503, {"errors": ["Vault is sealed"]}
        if path == "/v1/auth/approle/login":
            if body != {"role_id": "web", "secret_id": "secret-id-of-the-role"}:
                return 400, {"errors": ["invalid role or secret ID"]}
            self.logins += 1
            token = f"login-token-{self.logins}"
            self.tokens.add(token)
            return 200, {"auth": {"client_token": token, "lease_duration": 60}}
        if token not in self.tokens:
            return 403, {"errors": ["permission denied"]}
        if path.startswith("/v1/sys/internal/ui/mounts/secret/"):
            options = {"version": "2"} if self.version == 2 else None
            return 200, {"data": {"path": "secret/", "type": "kv", "options": options}}
        middle = "/v1/secret/data/" if self.version == 2 else "/v1/secret/"
        data = self.secrets.get(path.removeprefix(middle)) if path.startswith(middle) else None
        if data is None:
            return 404, {"errors": []}
        return 200, {"data": {"data": data, "metadata": {}} if self.version == 2 else data}


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
