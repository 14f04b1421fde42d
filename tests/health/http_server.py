"""A server that answers the requests of health checks."""

import base64
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from loopback import LoopbackServer


class Handler(BaseHTTPRequestHandler):
    """``/echo`` tells of the request, ``/moved`` leads there, ``/private`` wants ann:secret, ``/slow`` never ends."""

    protocol_version = "HTTP/1.0"

    def do_GET(self):
        length = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(length).decode()
        wanted = "Basic " + base64.b64encode(b"ann:secret").decode()
        if self.path == "/moved":
            self.reply(302, "", Location="/echo")
        elif self.path == "/private" and self.headers.get("Authorization") != wanted:
            self.reply(401, "")
        elif self.path == "/missing":
            self.reply(404, "nothing here")
        elif self.path == "/slow":
            self.server.over.wait()
        else:
            seen = {"method": self.command, "body": sent, "headers": dict(self.headers)}
            self.reply(200, json.dumps(seen, indent=1))

    def do_PUT(self):
        self.do_GET()

    def reply(self, status, body, **headers):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def http_server(tls=None):
    """Serves while the block lasts; yields the URL. ``tls`` is the context of a server."""
    with LoopbackServer(Handler, tls) as server:
        yield server.base
