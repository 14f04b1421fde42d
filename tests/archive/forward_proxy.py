"""A forward proxy on loopback, for http and for tunnels to https, that may want a password."""

import base64
import http.client
import socket
import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from loopback import LoopbackServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if not self.is_allowed():
            return
        target = urlsplit(self.path)
        connection = http.client.HTTPConnection(target.hostname, target.port)
        own = {"proxy-authorization", "connection"}
        fields = {name: value for name, value in self.headers.items() if name.lower() not in own}
        connection.request("GET", target.path, headers=fields)
        answer = connection.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        connection.close()

    def do_CONNECT(self):
        if not self.is_allowed():
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as server:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=pass_on, args=(server, self.connection), daemon=True)
            back.start()
            pass_on(self.connection, server)
            back.join()

    def is_allowed(self):
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        wanted = base64.b64encode(self.server.account.encode()).decode()
        if self.server.account in ("", None) or self.headers.get("Proxy-Authorization") == f"Basic {wanted}":
            return True
        self.send_error(407)
        return False

    def log_message(self, *_):
        """Say nothing."""


def pass_on(source, target):
    """All bytes, until there are no more."""
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class ForwardProxy(LoopbackServer):
    """``account`` is ``user:password``, or empty; ``asked`` are the method, target and fields of each request."""

    def __init__(self, account=""):
        super().__init__(Handler)
        self.account = account
        self.asked = []

    def url(self, account=""):
        """Where it is, as a variable of the environment has it."""
        return f"http://{account}@127.0.0.1:{self.server_port}"
