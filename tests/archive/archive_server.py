"""A server of one archive that misbehaves on request."""

import gzip
import hashlib
import re
import socket
import struct
from http.server import BaseHTTPRequestHandler

from loopback import LoopbackServer


class Handler(BaseHTTPRequestHandler):
    """What the path begins with says how to behave; what it ends with is the name of an archive."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, dict(self.headers)))
        manner = self.path.strip("/").split("/")[0]
        getattr(self, f"be_{manner}", self.be_good)()

    def be_good(self, body=None):
        server = self.server
        body = server.body if body is None else body
        start = 0
        if self.headers.get("If-None-Match") == server.etag:
            self.head(304, 0)
            return
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and self.headers.get("If-Range") == server.etag:
            start = int(wanted[1]) + server.shift
        if start >= len(body) > 0:
            self.head(416, 0)
            return
        if not start:
            self.head(200, len(body))
            self.send(body)
            return
        part = body[start : None if server.most is None else start + server.most]
        whole = len(body) + server.longer
        more = {"Content-Range": f"bytes {start}-{start + len(part) - 1}/{whole}"}
        self.head(206, len(part), etag=server.part_etag or server.etag, **more)
        self.send(part)

    def be_cut(self):
        """Reset the connection in the middle, ``server.cuts`` times."""
        server = self.server
        if server.cuts == 0:
            self.be_good()
            return
        server.cuts -= 1
        start = int(re.sub(r"\D", "", self.headers.get("Range", "0")) or 0)
        end = start + (len(server.body) - start) // 2
        more = {"Content-Range": f"bytes {start}-{len(server.body) - 1}/{len(server.body)}"} if start else {}
        self.head(206 if start else 200, len(server.body) - start, **more)
        self.send(server.body[start:end])
        self.reset()

    def be_unmeasured(self):
        """Never say how much there is, and end after one half, ``server.cuts`` times."""
        server = self.server
        if server.cuts == 0:
            self.be_good()
            return
        server.cuts -= 1
        self.send_response(200)
        self.send_header("ETag", server.etag)
        self.end_headers()
        self.send(server.body[: len(server.body) // 2])
        self.close_connection = True

    def be_short(self):
        """Promise more than there is."""
        self.head(200, len(self.server.body) + 10)
        self.send(self.server.body)
        self.close_connection = True

    def be_long(self):
        """Send more than was promised."""
        self.head(200, len(self.server.body) - 10)
        self.send(self.server.body)
        self.close_connection = True

    def be_huge(self):
        """Promise more than anybody takes."""
        self.head(200, 5 << 30)
        self.close_connection = True

    def be_endless(self):
        """Never say how much there is, and never stop."""
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        while not self.server.over.is_set():
            self.wfile.write(b"x" * 65536)

    def be_slow(self):
        """Send one half, and then nothing."""
        body = self.server.body
        self.head(200, len(body))
        self.send(body[: len(body) // 2])
        self.server.over.wait()

    def be_loop(self):
        self.redirect(self.path)

    def be_moved(self):
        self.redirect(self.server.leads_to)

    def be_private(self):
        wanted = self.server.authorization
        if self.headers.get("Authorization") == wanted:
            self.be_good()
        else:
            self.head(401, 0)

    def be_status(self):
        self.head(int(self.path.split("/")[2]), 0)

    def be_encoded(self):
        """Send what is packed, and call it an encoding that nobody has asked for."""
        packed = gzip.compress(self.server.body)
        self.head(200, len(packed), **{"Content-Encoding": "gzip"})
        self.send(packed)

    def be_lying(self):
        """Answer a request for a part with another part."""
        self.head(206, 1, **{"Content-Range": "bytes 0-0/1"})
        self.send(b"x")

    def redirect(self, target):
        self.send_response(302)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def head(self, status, length, *, etag=None, **more):
        self.send_response(status)
        if self.server.etag and status in (200, 206, 304):
            self.send_header("ETag", etag or self.server.etag)
        if status != 304:
            self.send_header("Content-Length", str(length))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()

    def send(self, data):
        self.server.sent += len(data)  # before whoever reads it goes on
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            self.close_connection = True

    def reset(self):
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

    def log_message(self, *_):
        """Say nothing."""


class ArchiveServer(LoopbackServer):
    """``body`` is what is served, ``asked`` holds path and header fields of each request, ``sent`` counts bytes.

    Of a part that is asked for, ``shift`` says how far off it is, ``most`` how many bytes of it are sent, ``longer`` by
    how much the whole is said to be longer, and ``part_etag`` which other ETag it has.
    """

    def __init__(self, tls=None):
        super().__init__(Handler, tls)
        self.etag = ""
        self.body = b""
        self.cuts = 0
        self.shift = self.longer = 0
        self.most = None
        self.part_etag = ""
        self.sent = 0
        self.asked = []
        self.leads_to = self.authorization = ""

    def serve(self, body, *, etag=True):
        self.body = body
        self.etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"' if etag else ""

    def url(self, manner="good", name="app.tar.gz"):
        return f"{self.base}/{manner}/{name}"

    def __repr__(self):
        return f"ArchiveServer({self.base})"
