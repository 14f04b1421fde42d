"""A real HTTP server on loopback, in threads of the test's own process."""

import threading
from http.server import ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """Serves at ``base`` while a block lasts. ``tls`` is the context of a server with a certificate.

    ``over`` is set at the end of the block, for answers that would never come to one.
    """

    daemon_threads = True
    request_queue_size = 1024  # beyond that, the kernel has clients try again after a second

    def __init__(self, handler, tls=None):
        super().__init__(("127.0.0.1", 0), handler)
        self.over = threading.Event()
        self.base = f"http{'s' if tls else ''}://127.0.0.1:{self.server_port}"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, *_):
        """Clients go away; that is what is tested."""
